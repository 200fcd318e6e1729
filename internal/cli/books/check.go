package books

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/cli"
)

// Check is cascada check.
type Check struct {
	cli.DatabaseFlags
	Heads    string `type:"existingfile" placeholder:"FILE" help:"What cascada seal head printed before: prove that no chain of seals was cut since."`
	State    string `type:"path" placeholder:"FILE" help:"Keep in FILE what was proved, and prove only what changed since the check that wrote it. Without the file, and with --full, everything is looked at. Keep it where nobody can write who may write the database."`
	Full     bool   `help:"Look at everything. What --state holds proves that no chain of seals was cut since."`
	Progress bool   `help:"Say on standard error how far it is, also where that is no terminal."`
}

// Help is shown by --help.
func (c *Check) Help() string {
	return `It only reads, a bounded part of the database in each transaction: it may run beside the
service, and on a standby of PostgreSQL. With the addresses of several servers it reads the
primary, unless the address says target_session_attrs=prefer-standby or the like.

With --state a check goes on from the one before: sealed rows that it has proved, and
payments that nothing happened to since, are not looked at again. What somebody changed in these
behind the service's back only a full check finds; so does it alone find wrong counters and wrong
sums of settlements. Run it nightly with --state, and weekly with --full.`
}

func (c *Check) Run(ctx context.Context, log *slog.Logger) error {
	b, err := c.Books(ctx, log)
	if err != nil {
		return err
	}
	defer b.Close()
	o := app.CheckOptions{Full: c.Full}
	if c.State != "" {
		if o.Since, err = c.proved(b); err != nil {
			return err
		}
	}
	show := newProgress(os.Stderr, c.Progress)
	o.Progress = show.tell
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
		fmt.Fprintf(cli.Stdout, "every invariant holds of what changed since %s; everything was last looked at on %s\n", cli.Moment(o.Since.At), cli.Moment(o.Since.Full))
		return nil
	}
	fmt.Fprintln(cli.Stdout, "every invariant holds")
	return nil
}

// proved reads what an earlier check has proved; nil where there is none.
func (c *Check) proved(b *app.Books) (*app.CheckProof, error) {
	content, err := os.ReadFile(c.State)
	if errors.Is(err, fs.ErrNotExist) { // so that hours of work do not end with this
		return nil, writable(c.State)
	}
	if err != nil {
		return nil, err
	}
	p, err := b.OpenProof(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: keep it for whoever looks into this, and check without it", c.State, err)
	}
	return p, writable(c.State)
}

// writable proves that a file can be written, which is done only when all else is.
func writable(path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// keep writes what was proved: the file is the one from before, or all of the new one.
func (c *Check) keep(b *app.Books, p *app.CheckProof) error {
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
		return errors.Join(fmt.Errorf("what was proved is not kept: %w", err), os.Remove(file.Name()))
	}
	return nil
}

// progress shows how far a check is: one line that is written again on a terminal, and else a
// line now and then where somebody asked for it.
type progress struct {
	to       io.Writer
	every    time.Duration // 0: nothing is shown
	terminal bool
	next     time.Duration // into the check, of the next line
}

func newProgress(to *os.File, asked bool) *progress {
	p := &progress{to: cli.Safely(to)}
	if info, err := to.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		p.terminal, p.every, p.to = true, time.Second, to
	} else if asked {
		p.every = 10 * time.Second
	}
	if !asked || p.terminal { // else the first line comes at once
		p.next = p.every
	}
	return p
}

func (p *progress) tell(at app.Progress) {
	if p.every == 0 || at.Took < p.next {
		return
	}
	p.next = at.Took + p.every
	line := fmt.Sprintf("%s: %d of about %d rows", at.Part, at.Done, at.Total)
	if at.Done > 0 && at.Done < at.Total && at.Took > time.Second {
		line += ", some " + (at.Took * time.Duration(at.Total-at.Done) / time.Duration(at.Done)).Round(time.Second).String() + " left"
	}
	if p.terminal {
		fmt.Fprintf(p.to, "\r\x1b[K%s", line)
		return
	}
	fmt.Fprintln(p.to, line)
}

// end takes the line away from a terminal.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}

// Seal is cascada seal.
type Seal struct {
	Head sealHeadCmd `cmd:"" help:"Print the newest seal of each merchant and environment: keep it elsewhere, for check --heads."`
}

type sealHeadCmd struct{ cli.DatabaseFlags }

func (c *sealHeadCmd) Run(ctx context.Context, log *slog.Logger) error {
	b, err := c.Books(ctx, log)
	if err != nil {
		return err
	}
	defer b.Close()
	return b.Heads(ctx, func(head string) error {
		_, err := fmt.Fprintln(cli.Stdout, head)
		return err
	})
}

// checkHeads proves that the chains go on from the heads in a file, and returns
// what to tell of those that do not.
func checkHeads(ctx context.Context, b *app.Books, path string) (broken []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	heads := 0
	for lines := bufio.NewScanner(file); lines.Scan(); heads++ {
		cut, err := b.CheckHead(ctx, lines.Text())
		if err != nil {
			return broken, fmt.Errorf("%s: %w", path, err)
		}
		for _, b := range cut {
			broken = append(broken, b.String())
		}
	}
	if heads == 0 { // or it would prove nothing, and not say so
		return nil, fmt.Errorf("%s holds no head", path)
	}
	return broken, nil
}
