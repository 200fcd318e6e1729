// Package settings gives flags the values that the command line does not have: from a file of
// settings, from files of secrets and from a supervisor's credentials; and tells where each value is
// from, without what nobody may see. It knows no setting but the secret ones, and not what they mean.
package settings
