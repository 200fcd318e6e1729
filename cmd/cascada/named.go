package main

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// whole are the commands that read the whole command line: completion offers it.
var whole = []string{"completion"}

// onlyNamed leaves out of the model all commands but the one that the arguments begin with, and serve, whose flags are the
// names in a file of settings. To read the tags of two hundred commands takes most of a short command's time. Where the
// arguments name no command, as in --help and after a mistake, nothing is left out.
func onlyNamed(args []string) kong.Option {
	var others []string
	if len(args) > 0 && !slices.Contains(whole, args[0]) {
		others = besides(reflect.TypeFor[commands](), args, "serve")
	}
	if len(others) == 0 {
		return kong.OptionFunc(func(*kong.Kong) error { return nil })
	}
	return kong.IgnoreFields("^(?:" + strings.Join(others, "|") + ")$")
}

// besides returns patterns of the commands in a struct, and in those below it, that the arguments do not name. One is kept.
func besides(in reflect.Type, args []string, kept string) (patterns []string) {
	var others []string
	var named *reflect.StructField
	for _, field := range reflect.VisibleFields(in) {
		if _, is := field.Tag.Lookup("cmd"); !is {
			continue
		}
		switch name := commandName(field); name {
		case args[0]:
			named = &field
		case kept:
		default:
			others = append(others, field.Name)
		}
	}
	if named == nil || in.Name() == "" { // a struct without a name has no pattern
		return nil
	}
	if len(others) > 0 {
		patterns = append(patterns, regexp.QuoteMeta(in.Name()+".")+"(?:"+strings.Join(others, "|")+")")
	}
	if len(args) > 1 && named.Type.Kind() == reflect.Struct {
		patterns = append(patterns, besides(named.Type, args[1:], "")...)
	}
	return patterns
}

// commandName is the word for the command of a field. A name of several words needs a tag.
func commandName(field reflect.StructField) string {
	if name := field.Tag.Get("name"); name != "" {
		return name
	}
	return strings.ToLower(field.Name)
}
