package books

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	appbooks "github.com/cascadapay/cascada/internal/app/books"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/printable"
)

// Check is cascada check.
type Check struct {
	cli.DatabaseFlags
	Heads    string `type:"existingfile" placeholder:"FILE" help:"File with an earlier output of cascada seal head: prove that no chain of seals was cut since then."`
	State    string `type:"path" placeholder:"FILE" help:"Keep the result in FILE, and check only what changed since the check that wrote it. If there is no such file, or with --full, everything is checked. Keep FILE where those who can write to the database cannot write."`
	Full     bool   `help:"Check everything. The file of --state is still used to prove that no chain of seals was cut."`
	Parallel int    `default:"1" placeholder:"N" help:"If everything is checked, read so many parts of the database at the same time, each over a connection of its own: at most 8 (default ${default}). The check ends sooner, and leaves less of the machine to the service."`
	Progress bool   `help:"Print the progress to standard error, even if that is not a terminal."`
}

// Help returns what --help prints below the summary.
func (c *Check) Help() string {
	return `The check only reads, and only a limited part of the database in each transaction. So it can run
beside the service, and on a standby of PostgreSQL. If the database URL names several servers, the
check reads the primary, unless the URL says target_session_attrs=prefer-standby or similar.

With --state a check continues from the previous one. It does not read sealed rows again that were
proved, nor payments that have not changed since. If somebody changed these rows without the
service, only a full check finds it. Wrong counters and wrong sums of settlements also need a full
check. Run the check nightly with --state, and weekly with --full.`
}

func (c *Check) Run(ctx context.Context, log *slog.Logger, open cli.Opener[*appbooks.Books]) error {
	b, err := open(ctx, c.OperatorConfig(log))
	if err != nil {
		return err
	}
	defer b.Close()
	o := appbooks.CheckOptions{Full: c.Full, Parallel: c.Parallel}
	if c.State != "" {
		if o.Since, err = c.proved(b); err != nil {
			return err
		}
	}
	show := newProgress(os.Stderr, c.Progress)
	o.Progress = show.print
	found, err := b.Check(ctx, o)
	show.end()
	var broken []string
	for _, b := range found.Broken {
		broken = append(broken, b.String())
	}
	if c.Heads != "" {
		cut, headErr := checkHeads(ctx, b, c.Heads)
		broken, err = append(broken, cut...), errors.Join(err, headErr)
	}
	for _, b := range broken {
		fmt.Fprintln(cli.Stdout, "broken:", b)
	}
	if err != nil {
		return err
	}
	if len(broken) > 0 {
		return fmt.Errorf("%d broken", len(broken))
	}
	if c.State != "" {
		if err := c.keep(b, found.Proof); err != nil {
			return err
		}
	}
	if o.Since != nil && !c.Full {
		fmt.Fprintf(cli.Stdout, "every invariant holds for what changed since %s; everything was last checked on %s\n", cli.Moment(o.Since.At), cli.Moment(o.Since.Full))
		return nil
	}
	fmt.Fprintln(cli.Stdout, "every invariant holds")
	return nil
}

// proved reads the result of an earlier check; nil if there is none.
func (c *Check) proved(b *appbooks.Books) (*appbooks.CheckProof, error) {
	content, err := os.ReadFile(c.State)
	if errors.Is(err, fs.ErrNotExist) { // a check may take hours, so fail now if the file cannot be written
		return nil, writable(c.State)
	}
	if err != nil {
		return nil, err
	}
	p, err := b.OpenProof(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: keep the file for the investigation, and run the check without it", c.State, err)
	}
	return p, writable(c.State)
}

// writable tests whether a file can be written, which happens only at the end of a check.
func writable(path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// keep writes the result of a check. It replaces the file completely or not at all.
func (c *Check) keep(b *appbooks.Books, p *appbooks.CheckProof) error {
	content, err := b.SealProof(p)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(c.State), filepath.Base(c.State)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = file.Write(append(content, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), c.State)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the result of the check could not be saved: %w", err), os.Remove(file.Name()))
	}
	return nil
}

// progress prints how far a check is: on a terminal one line that is updated, otherwise a new line
// from time to time, if it was asked for.
type progress struct {
	to       io.Writer
	every    time.Duration // 0: nothing is shown
	terminal bool
	next     time.Duration // when the next line is due, from the start of the check
}

func newProgress(to *os.File, asked bool) *progress {
	p := &progress{to: printable.Safely(to)}
	if info, err := to.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		p.terminal, p.every, p.to = true, time.Second, to
	} else if asked {
		p.every = 10 * time.Second
	}
	if !asked || p.terminal { // otherwise the first line comes at once
		p.next = p.every
	}
	return p
}

func (p *progress) print(at appbooks.Progress) {
	if p.every == 0 || at.Took < p.next {
		return
	}
	p.next = at.Took + p.every
	line := fmt.Sprintf("%s: %d of about %d rows", at.Part, at.Done, at.Total)
	if at.Done > 0 && at.Done < at.Total && at.Took > time.Second {
		line += ", about " + (at.Took * time.Duration(at.Total-at.Done) / time.Duration(at.Done)).Round(time.Second).String() + " left"
	}
	if p.terminal {
		fmt.Fprintf(p.to, "\r\x1b[K%s", line)
		return
	}
	fmt.Fprintln(p.to, line)
}

// end clears the line on a terminal.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}

// Seal is cascada seal.
type Seal struct {
	Head sealHeadCmd `cmd:"" help:"Print the newest seal of each merchant and environment. Keep the output elsewhere, for check --heads."`
}

type sealHeadCmd struct{ cli.DatabaseFlags }

func (c *sealHeadCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[*appbooks.Books]) error {
	b, err := open(ctx, c.OperatorConfig(log))
	if err != nil {
		return err
	}
	defer b.Close()
	return b.Heads(ctx, func(head string) error {
		_, err := fmt.Fprintln(cli.Stdout, head)
		return err
	})
}

// checkHeads proves that the chains continue from the heads in a file. It returns a message for
// each chain that does not.
func checkHeads(ctx context.Context, b *appbooks.Books, path string) (broken []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cut, _, err := b.CheckHeads(ctx, file)
	for _, b := range cut {
		broken = append(broken, b.String())
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return broken, err
}
