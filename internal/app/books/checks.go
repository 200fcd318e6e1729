package books

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/cascadapay/cascada/internal/app/background"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// Checks checks the books while the service runs, as cascada check does: over a few connections of its own, which
// only read, and in bounded steps.
type Checks struct {
	*base.Base
	job     *background.Job[CheckProgress, store.Checked]
	address string
	more    fs.FS
}

// CheckProgress is the progress of a check.
type CheckProgress struct {
	Seals    bool     // only the seals are checked
	Finished []string // parts, in their order
	Now      Progress // the running part, with what was found so far
}

// CheckState is what the check does on this node, and what the last one here found.
type CheckState = background.State[CheckProgress, store.Checked]

// NewChecks returns the checks of a service. address is that of its database, more as store.Options.Migrations.
func NewChecks(b *base.Base, address string, more fs.FS) *Checks {
	return &Checks{b, background.New[CheckProgress, store.Checked](b.Now), address, more}
}

// BooksObject is the object of a check in the audit log.
const BooksObject = "books"

// books connects to the database as cascada check does.
func (c *Checks) books(ctx context.Context) (*Books, error) {
	r, err := store.OpenReader(ctx, c.address, c.more)
	if err != nil {
		return nil, err
	}
	r.SealWith(c.Vault.Key("blocks"))
	return &Books{r}, nil
}

// Start starts a check. The audit log gets its result when it ends.
//
// Errors: conflict_state if one runs on this node.
func (c *Checks) Start(by audit.Actor, o CheckOptions) error {
	return c.job.Start(by, CheckProgress{Seals: o.Seals}, func(ctx context.Context, tell func(CheckProgress)) (store.Checked, error) {
		b, err := c.books(ctx)
		if err != nil {
			return store.Checked{}, err
		}
		defer b.Close()
		at := CheckProgress{Seals: o.Seals}
		o.Progress = func(now Progress) {
			if now.Part != at.Now.Part && at.Now.Part != "" {
				at.Finished = append(slices.Clip(at.Finished), at.Now.Part) // a copy: the earlier list was handed out
			}
			at.Now = now
			tell(at)
		}
		return b.Check(ctx, o)
	}, func(e background.Ended[store.Checked]) { c.keep(e, o) })
}

// keep writes the result of a check to the audit log.
func (c *Checks) keep(e background.Ended[store.Checked], o CheckOptions) {
	how, what := "ended", "everything"
	if o.Seals {
		what = "seals"
	}
	switch {
	case e.Stopped:
		how = "stopped"
	case e.Err != nil:
		how = "failed"
		c.Log.Error("the check of the books failed", "error", e.Err)
	case len(e.Result.Broken) > 0:
		c.Log.Error("the check found broken rules of the books", "broken", len(e.Result.Broken), "first", e.Result.Broken[0].String())
	}
	err := c.Store.Commit(context.Background(), pay.Change{Audit: c.Audited(e.By, merchants.Scope{}, audit.BooksChecked, BooksObject, map[string]string{
		"what": what, "result": how, "broken": strconv.Itoa(len(e.Result.Broken)), "took": e.At.Sub(e.Began).Round(time.Second).String(),
	})})
	if err != nil {
		c.Log.Error("the result of the check is not in the audit log", "result", how, "broken", len(e.Result.Broken), "error", err)
	}
}

// Stop tells the check on this node to stop. It reports whether one runs.
func (c *Checks) Stop() bool { return c.job.Stop() }

// State is what the check does on this node.
func (c *Checks) State() CheckState { return c.job.State() }

// Close stops the check and waits for its end.
func (c *Checks) Close() { c.job.Close() }

// Past lists the newest checks of all nodes, by the audit log.
func (c *Checks) Past(ctx context.Context, limit int) ([]audit.Entry, error) {
	return c.Store.Audit().Latest(ctx, audit.Filter{Object: BooksObject, Act: audit.BooksChecked}, limit)
}

// Heads calls each with the newest block of each chain of seals.
func (c *Checks) Heads(ctx context.Context, each func(store.Newest) error) error {
	b, err := c.books(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	return b.store.Heads(ctx, each)
}

// HeadsAfter lists the newest block of the chains that come after one, by merchant, the sandbox first; nil: of the first chains.
func (c *Checks) HeadsAfter(ctx context.Context, after *merchants.Scope, limit int) ([]SealHead, error) {
	b, err := c.books(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return b.store.HeadsAfter(ctx, after, limit)
}

// CheckHeads is Books.CheckHeads.
func (c *Checks) CheckHeads(ctx context.Context, from io.Reader) (broken []store.Broken, heads int, err error) {
	b, err := c.books(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer b.Close()
	return b.CheckHeads(ctx, from)
}
