// Package cli is what the commands of cascada share, whatever their nouns are: the flags that name
// a database and its provider accounts, who runs the command, how times and amounts are written,
// and printing so that a terminal obeys nobody. It has no command, and does not know the command line.
package cli
