// Package people has the nouns of the dashboard's users: users with what they sign in with, their roles at
// merchants, their sign-ins, and the one-time links that are sent to them.
package people
