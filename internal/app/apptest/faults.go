package apptest

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Faults is a log that keeps errors only: what would wake the person on call.
type Faults struct {
	Mu    sync.Mutex // owns what follows
	Lines []string
	muted bool
	// expected are parts of lines that Report passes over.
	expected []string
}

// Enabled drops lines below the level of errors.
func (f *Faults) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

// WithAttrs ignores the attributes.
func (f *Faults) WithAttrs([]slog.Attr) slog.Handler { return f }

// WithGroup ignores the group.
func (f *Faults) WithGroup(string) slog.Handler { return f }

// Handle keeps the line.
func (f *Faults) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		line.WriteString(" " + a.String())
		return true
	})
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Lines = append(f.Lines, line.String())
	return nil
}

// Mute makes Report ignore all faults of this test, also those that are logged later.
func (f *Faults) Mute() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.muted = true
}

// Expect makes Report pass over the faults that contain a text, also those that are logged later.
func (f *Faults) Expect(text string) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.expected = append(f.expected, text)
}

// Forget removes all lines: the test expected these faults.
func (f *Faults) Forget() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Lines = nil
}

// Empty reports whether no fault was logged.
func (f *Faults) Empty() bool {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return len(f.Lines) == 0
}

// Extract removes the lines that contain a text. It fails the test if there are none.
func (f *Faults) Extract(t testing.TB, of string) {
	t.Helper()
	f.Mu.Lock()
	defer f.Mu.Unlock()
	kept := slices.DeleteFunc(f.Lines, func(line string) bool { return strings.Contains(line, of) })
	if len(kept) == len(f.Lines) {
		t.Errorf("no line of the log contains %q", of)
	}
	f.Lines = kept
}

// Report fails the test for each fault that the service logged.
func (f *Faults) Report(t testing.TB) {
	t.Helper()
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.muted {
		return
	}
	for _, line := range f.Lines {
		if slices.ContainsFunc(f.expected, func(text string) bool { return strings.Contains(line, text) }) {
			continue
		}
		t.Errorf("the service logged a fault: %s", line)
	}
}
