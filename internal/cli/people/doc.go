// Package people has the commands about those whom the service knows: merchants with their shops, keys,
// logins and verifications, the operators, shoppers of whom data is kept, and the master key that their
// secrets are encrypted under. It moves no money.
package people
