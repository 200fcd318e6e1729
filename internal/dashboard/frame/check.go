package frame

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
)

// Check returns an error for each mistake in the pages of all rooms: a missing text or part, a template that a page
// cannot see, and what the browser would refuse to run. The pages are part of the program, so a test checks them, and
// the service does not spend time on that when it starts.
func (f *Frame) Check() error {
	wrong := f.checkOwn()
	for _, r := range f.rooms {
		wrong = errors.Join(wrong, r.Check())
	}
	return wrong
}

// ours are the scripts of the layouts, which are files.
var ours = regexp.MustCompile(`<script defer src="\{\{asset "[a-z.-]+"\}\}"></script>`)

// checkOwn looks for what the browser would refuse in layouts and parts.
func (f *Frame) checkOwn() (wrong error) {
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return err
	}
	for _, name := range files {
		body, err := templateFiles.ReadFile(name)
		if err != nil {
			return err
		}
		wrong = errors.Join(wrong, refused(name, ours.ReplaceAllString(string(body), "")))
	}
	return wrong
}

// Check returns an error for each page of the room that has a mistake. See Frame.Check.
func (pg *Pages) Check() (wrong error) {
	for _, name := range pg.Pages() {
		if err := pg.checkPage(name); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("dashboard page %s: %w", name, err))
		}
	}
	return wrong
}

func (pg *Pages) checkPage(name string) error {
	for _, file := range pg.names[name] {
		body, err := fs.ReadFile(pg.files, file)
		if err != nil {
			return err
		}
		if err := refused(file, string(body)); err != nil {
			return err
		}
	}
	p, err := pg.read(name) // not the one that is shown: showing a template changes it
	if err != nil {
		return err
	}
	for _, t := range p.template.Templates() {
		if t.Tree == nil {
			continue
		}
		if p.blocks[t.Name()] {
			if err := pg.checkCalls(t.Tree); err != nil {
				return err
			}
		}
		nodes(t.Tree.Root, func(n parse.Node) {
			if call, ok := n.(*parse.TemplateNode); ok && p.template.Lookup(call.Name) == nil {
				err = fmt.Errorf("%s calls the template %q, which a page cannot see: parts are called with {{part}}", t.Name(), call.Name)
			}
		})
	}
	return err
}

// checkCalls looks for texts that do not exist, and for parts and their arguments.
func (pg *Pages) checkCalls(tree *parse.Tree) error {
	var wrong error
	walk(tree.Root, func(command *parse.CommandNode) {
		name := called(command.Args[0])
		literal := func(i int) (string, bool) {
			if i >= len(command.Args) {
				return "", false
			}
			s, ok := command.Args[i].(*parse.StringNode)
			if !ok {
				return "", false
			}
			return s.Text, true
		}
		switch name {
		case "T":
			if key, ok := literal(1); ok {
				if _, known := pg.text(languages[0], key); !known {
					wrong = fmt.Errorf("it asks for the text %q, which does not exist", key)
				}
			}
		case "May":
			if right, ok := literal(1); ok && !slices.Contains(operators.Rights(), operators.Right(right)) && !slices.Contains(merchants.PeopleRights(), merchants.Right(right)) {
				wrong = fmt.Errorf("it asks for the right %q, which does not exist", right)
			}
		case "part":
			part, ok := literal(2)
			if !ok {
				return
			}
			for i := 3; i < len(command.Args); i += 2 {
				if arg, ok := literal(i); ok {
					if err := pg.frame.checkArgument(part, arg); err != nil {
						wrong = err
					}
				}
			}
			if err := pg.frame.checkArgument(part, ""); err != nil {
				wrong = err
			}
		}
	})
	return wrong
}

// called is the name of the function or method that a command calls.
func called(n parse.Node) string {
	switch n := n.(type) {
	case *parse.IdentifierNode:
		return n.Ident
	case *parse.FieldNode:
		return n.Ident[len(n.Ident)-1]
	case *parse.VariableNode:
		return n.Ident[len(n.Ident)-1]
	case *parse.ChainNode:
		return n.Field[len(n.Field)-1]
	}
	return ""
}

// forbidden is what the policy of pages does not let run.
var forbidden = regexp.MustCompile(`(?i)<script|<style|\sstyle\s*=|[\s"']on[a-z]+\s*=|javascript:|hx-on|["']js:|hx-trigger="[^"]*\[`)

// Forbidden returns the part of a template that the browser would refuse to run or that needs eval: a script,
// a style or a handler inside a page; "" if there is none.
func Forbidden(text string) string { return strings.TrimSpace(forbidden.FindString(text)) }

// refused returns an error for a file that Forbidden finds something in.
func refused(name, text string) error {
	if found := Forbidden(text); found != "" {
		return fmt.Errorf("%s has %q, which the content security policy forbids", name, found)
	}
	return nil
}
