// Package people has the commands about people: users of the dashboard, keys, logins, operators, the personal data of
// shoppers, and the master key that encrypts secrets. It moves no money.
package people
