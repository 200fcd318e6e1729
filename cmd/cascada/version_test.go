package main_test

import (
	"runtime/debug"
	"strings"
	"testing"

	main "github.com/cascadapay/cascada/cmd/cascada"
)

// A program prints what it was built from, however it was built.
func TestVersionOfAnyBuild(t *testing.T) {
	t.Parallel()
	settings := func(pairs ...string) (list []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return list
	}
	for want, info := range map[string]debug.BuildInfo{
		"v1.2.3":                              {Main: debug.Module{Version: "v1.2.3"}},
		"0123456789ab of 2026-11-23":          {Main: debug.Module{Version: "(devel)"}, Settings: settings("vcs.revision", "0123456789abcdef", "vcs.time", "2026-11-23T10:00:00Z", "vcs.modified", "false")},
		"0123456789ab of 2026-11-23, changed": {Settings: settings("vcs.revision", "0123456789abcdef", "vcs.time", "2026-11-23T10:00:00Z", "vcs.modified", "true")},
		"development":                         {Main: debug.Module{Version: "(devel)"}},
	} {
		if got := main.Stamped(&info); got != want {
			t.Errorf("a build of %+v is %q, want %q", info, got, want)
		}
	}
	out, _, code := newUser(t).run(t, "version")
	if part := strings.Fields(out); code != 0 || len(part) < 4 || part[0] != "cascada" {
		t.Errorf("version: exit %d, %q", code, out)
	}
}
