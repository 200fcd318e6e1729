package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/cascadapay/cascada/internal/cli"
)

// version is set by the Makefile and by the package. A program built with go build or go install
// has none; it prints the version that Go wrote into it.
var version string

type versionCmd struct{}

func (versionCmd) Run() error {
	_, err := fmt.Fprintln(cli.Stdout, versionText())
	return err
}

func versionText() string {
	return "cascada " + buildVersion() + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}

// buildVersion names the sources that the program was built from.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "development"
	}
	return stamped(info)
}

// stamped returns the version that Go wrote into the program: that of the module or, if there is
// none, the commit of the sources.
func stamped(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision == "" {
		return "development"
	}
	text := revision[:min(len(revision), 12)]
	if at, err := time.Parse(time.RFC3339, settings["vcs.time"]); err == nil {
		text += " of " + at.UTC().Format("2006-01-02")
	}
	if settings["vcs.modified"] == "true" {
		text += ", changed"
	}
	return text
}
