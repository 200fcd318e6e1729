// Package settings gives flags the values that the command line does not set: from a file of
// settings, from files of secrets and from a supervisor's credentials. It also reports the source of
// each value, and hides secrets. It knows only the names of secret settings, not what settings mean.
package settings
