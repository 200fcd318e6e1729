// Package cli has what all commands of cascada share: the flags that name a database and its
// provider accounts, who runs the command, how times and amounts are written, and safe printing to a
// terminal. It has no command, and does not know the command line.
package cli
