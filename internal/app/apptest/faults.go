package apptest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// faults keeps what is logged as an error: it is a fault of the service, unless the test expects it.
type faults struct {
	mu       sync.Mutex // guards what follows
	list     []string
	expected []string
}

// ExpectFault lets errors be logged whose message contains a text.
func (s *Service) ExpectFault(text string) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.expected = append(s.faults.expected, text)
}

// Enabled is for slog.Handler.
func (f *faults) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

// Handle is for slog.Handler.
func (f *faults) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += fmt.Sprintf(" %s=%v", a.Key, a.Value); return true })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, line)
	return nil
}

// WithAttrs is for slog.Handler.
func (f *faults) WithAttrs([]slog.Attr) slog.Handler { return f }

// WithGroup is for slog.Handler.
func (f *faults) WithGroup(string) slog.Handler { return f }

// check fails the test for each fault that it did not expect.
func (f *faults) check(t testing.TB) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, line := range f.list {
		expected := false
		for _, text := range f.expected {
			expected = expected || strings.Contains(line, text)
		}
		if !expected {
			t.Errorf("logged as an error: %s", line)
		}
	}
}
