package bankfile

import (
	"errors"
	"fmt"
	"slices"
)

// Layout is a file format for batches.
type Layout struct {
	Name   string
	Title  string  // for people
	Fields []Field // the parts of Batch.From that it uses
	payer  func(Payer) error
	check  func(Payer, Line) error
	write  func(Batch, []Line) ([]byte, error)
}

// Layouts lists every layout, in display order. The CSV has its usual columns; CSV.Layout
// makes one with others.
func Layouts() []Layout {
	return []Layout{CSV{}.Layout(), cnabLayout(), sispagLayout(), speiLayout(), painLayout(painV03), painLayout(painV09)}
}

// Find returns the layout with a name.
func Find(name string) (Layout, bool) {
	all := Layouts()
	i := slices.IndexFunc(all, func(l Layout) bool { return l.Name == name })
	if i < 0 {
		return Layout{}, false
	}
	return all[i], true
}

// Check says why a line cannot be in a file from a payer's account, or nil.
//
// Errors: a *Problem that names the field.
func (l Layout) Check(from Payer, line Line) error {
	if err := line.common(); err != nil {
		return err
	}
	return l.check(from, line)
}

// CheckPayer says what is missing or wrong in the operator's account, or nil.
//
// Errors: a *Problem that names the setting.
func (l Layout) CheckPayer(p Payer) error {
	places := p.places()
	for _, f := range l.Fields {
		if !f.Optional && *places[f.Name] == "" {
			return problem(f.Name, "is missing: %s", f.Doc)
		}
	}
	return l.payer(p)
}

// Write returns the file of a batch: the same bytes for the same batch and lines. It writes
// all lines in their order, or nothing.
//
// Errors: no lines, a batch or payer that does not fit, two lines with one reference or
// number, another currency, and the errors of Check for a line, with its reference; all of
// them wrap a *Problem.
func (l Layout) Write(b Batch, lines []Line) ([]byte, error) {
	if err := l.CheckPayer(b.From); err != nil {
		return nil, fmt.Errorf("the payer's %w", err)
	}
	if err := b.check(lines); err != nil {
		return nil, err
	}
	for _, line := range lines {
		if err := l.Check(b.From, line); err != nil {
			return nil, fmt.Errorf("line %s: %w", line.Reference, err)
		}
	}
	file, err := l.write(b, lines)
	if err == nil && len(file) > MaxSize {
		err = problem("lines", "make a file above %d MiB: write fewer", MaxSize>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", l.Name, err)
	}
	return file, nil
}

// check checks what concerns the whole batch.
func (b Batch) check(lines []Line) error {
	switch {
	case !batchIDs.MatchString(b.ID):
		return problem("id", "must be 1 to 30 letters, digits and dashes")
	case b.Sequence < 1 || b.Sequence > 999_999:
		return problem("sequence", "must be 1 to 999999")
	case b.At.IsZero() || b.At.Year() < 2000 || b.At.Year() > 9999:
		return problem("time", "of the batch is missing")
	case !b.Currency.Valid():
		return problem("currency", "of the batch is not valid")
	case len(lines) == 0:
		return problem("lines", "are missing: a file without lines pays nothing")
	}
	references, numbers := map[string]bool{}, map[int]bool{}
	for _, line := range lines {
		switch {
		case line.Amount.Currency != b.Currency:
			return fmt.Errorf("line %s: %w", line.Reference, problem("amount", "is not in %s, as the batch is", b.Currency))
		case references[line.Reference]:
			return fmt.Errorf("line %s: %w", line.Reference, problem("reference", "occurs twice in the batch"))
		case line.Number != 0 && numbers[line.Number]:
			return fmt.Errorf("line %s: %w", line.Reference, problem("number", "occurs twice in the batch"))
		}
		references[line.Reference], numbers[line.Number] = true, true
	}
	_, err := total(lines)
	return err
}

// errSum means that a sum is larger than any file can hold.
var errSum = errors.New("the sum of the amounts has more than 18 digits")

// add adds minor units. It fails above 18 digits, the most that a trailer holds.
func add(sum, minor int64) (int64, error) {
	const most = 999_999_999_999_999_999
	if minor < 0 || minor > most-sum {
		return 0, errSum
	}
	return sum + minor, nil
}

// total is the sum of the lines in minor units.
func total(lines []Line) (sum int64, err error) {
	for _, line := range lines {
		if sum, err = add(sum, line.Amount.Minor); err != nil {
			return 0, &Problem{"lines", "have too large a sum: " + err.Error()}
		}
	}
	return sum, nil
}
