// Package people has the commands about people and companies: merchants with their shops, keys,
// logins and verifications, operators, the personal data of shoppers, and the master key that
// encrypts their secrets. It moves no money.
package people
