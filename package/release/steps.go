package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// steps run one after another, and print how long each takes.
type steps struct {
	to   io.Writer
	list []step
}

type step struct {
	name string
	do   func() error
}

func newSteps(to io.Writer) *steps { return &steps{to: to} }

func (s *steps) add(name string, do func() error) { s.list = append(s.list, step{name, do}) }

func (s *steps) run() error {
	for _, step := range s.list {
		began := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(s.to, "%-16s %6.1f s\n", step.name, time.Since(began).Seconds())
	}
	return nil
}

// report prints what was made, the largest first, and what the release is.
func (r *release) report(to io.Writer) error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	type size struct {
		name  string
		bytes int64
	}
	var list []size
	var all int64
	for _, e := range entries {
		about, err := e.Info()
		if err != nil {
			return err
		}
		list = append(list, size{e.Name(), about.Size()})
		all += about.Size()
	}
	slices.SortFunc(list, func(a, b size) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name)) })
	fmt.Fprintf(to, "\n%s\n", r.out)
	for _, s := range list {
		fmt.Fprintf(to, "%12d  %s\n", s.bytes, s.name)
	}
	fmt.Fprintf(to, "%12d  in %d files\n\ncascada %s, commit %s of %s\n", all, len(list), r.version, r.commit, r.time.Format(time.DateTime))
	if tag, err := r.git("tag", "--points-at", "HEAD", "--list", "v"+r.version); err != nil || tag == "" {
		fmt.Fprintf(to, "THE COMMIT HAS NO TAG v%s: this is a dry run\n", r.version)
	}
	if r.key == nil {
		fmt.Fprintln(to, "NOTHING IS SIGNED: no key was given (KEY=FILE)")
	}
	if r.url == "" {
		fmt.Fprintln(to, "no address was given (RELEASE_URL=https://…): install.sh needs --from, and the formulas HOMEBREW_CASCADA_URL")
	}
	return nil
}
