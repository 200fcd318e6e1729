package leaving

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	tenants "github.com/cascadapay/cascada/internal/pay/merchants"
	endpoints "github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/statement"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Manifest lists what is in an export. It is the archive's last file, manifest.json.
type Manifest struct {
	Merchant string        `json:"merchant"`
	MadeAt   view.Time     `json:"madeAt"`
	Format   int           `json:"format"`
	Files    []ManifestRow `json:"files"`
}

// ManifestRow is a file of an export.
type ManifestRow struct {
	Name   string `json:"name"`
	Rows   int    `json:"rows,omitempty"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// exportFormat is raised when a file or a field of an export gets another meaning.
const exportFormat = 1

// Export writes everything that is a merchant's to w, as a ZIP archive: each list as lines of JSON in the API's shapes and as CSV, the files of
// evidence, and a manifest with the hash of each file (LEAVE-5). Secrets are not in it: keys and destinations are masked. The audit log records it.
// What changes while it is written may be in one file and not in another. Lists are read a page at a time, and no query waits for w, which may be
// slow.
//
// Errors: store.ErrNotFound, and those of w.
func (l *Leaving) Export(ctx context.Context, by audit.Actor, id string, w io.Writer) (Manifest, error) {
	return l.export(ctx, by, id, w, func() (*pay.Once, error) { return nil, nil })
}

// export writes an archive, once it is in the audit log. may returns a key that one export may use.
func (l *Leaving) export(ctx context.Context, by audit.Actor, id string, w io.Writer, may func() (*pay.Once, error)) (Manifest, error) {
	m, err := l.AnyMerchant(ctx, id)
	if err != nil {
		return Manifest{}, err
	}
	shops, err := l.Store.Merchants().Shops(ctx, id)
	if err != nil {
		return Manifest{}, err
	}
	once, err := may()
	if err != nil {
		return Manifest{}, err
	}
	entry := l.Audited(by, tenants.Scope{Merchant: id, Live: true}, audit.MerchantExport, id, nil)
	if err := l.Store.Commit(ctx, pay.Change{Once: once, Audit: entry}); err != nil {
		return Manifest{}, err
	}
	now := l.Now()
	e := &export{l: l, zip: zip.NewWriter(w), merchant: m, shops: shops, manifest: Manifest{Merchant: id, MadeAt: view.Time{Time: now}, Format: exportFormat}}
	if err := e.all(ctx); err != nil {
		return e.manifest, err
	}
	text, err := json.MarshalIndent(e.manifest, "", "  ")
	if err != nil {
		return e.manifest, err
	}
	manifest := e.manifest
	if err := e.file("manifest.json", func(w io.Writer) (int, error) {
		_, err := w.Write(append(text, '\n'))
		return 0, err
	}); err != nil {
		return manifest, err
	}
	return manifest, e.zip.Close()
}

// export is an archive that is being written.
type export struct {
	l        *Leaving
	zip      *zip.Writer
	merchant tenants.Merchant
	shops    []tenants.Shop
	manifest Manifest
}

// rows calls put with each row of a list.
type rows func(ctx context.Context, put func(row any) error) error

// all writes the files.
func (e *export) all(ctx context.Context) error {
	for _, list := range []struct {
		name string
		of   any // a row, for the columns
		each rows
	}{
		{"merchant", exportedMerchant{}, e.theMerchant},
		{"shops", view.Shop{}, e.theShops},
		{"team", exportedMember{}, e.team},
		{"keys", view.Key{}, e.keys},
		{"webhooks", view.Subscription{}, e.webhooks},
		{"wallets", view.Wallet{}, e.wallets},
		{"payment_links", view.PaymentLink{}, e.paymentLinks},
		{"payments", view.Transaction{}, e.payments},
		{"claims", view.Claim{}, e.claims},
		{"settlements", view.Settlement{}, e.settlements},
		{"withdrawals", view.Withdrawal{}, e.withdrawals},
		{"transfers", exportedTransfer{}, e.transfers},
		{"audit", exportedEntry{}, e.audit},
	} {
		if err := e.list(ctx, list.name, list.of, list.each); err != nil {
			return fmt.Errorf("%s: %w", list.name, err)
		}
	}
	return e.evidence(ctx)
}

// list writes a list as JSON and as CSV.
func (e *export) list(ctx context.Context, name string, of any, each rows) error {
	err := e.file(name+".jsonl", func(w io.Writer) (n int, err error) {
		out := json.NewEncoder(w)
		err = each(ctx, func(row any) error {
			n++
			return out.Encode(row)
		})
		return n, err
	})
	if err != nil {
		return err
	}
	return e.file(name+".csv", func(w io.Writer) (n int, err error) {
		columns := columnsOf(reflect.TypeOf(of))
		out := csv.NewWriter(w)
		if err := out.Write(columns); err != nil {
			return 0, err
		}
		err = each(ctx, func(row any) error {
			n++
			cells, err := cellsOf(row, columns)
			if err != nil {
				return err
			}
			return out.Write(cells)
		})
		out.Flush()
		return n, errors.Join(err, out.Error())
	})
}

// columnsOf are the names of a row's members.
func columnsOf(of reflect.Type) (names []string) {
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// cellsOf are a row's members as cells: a text as it is, anything else as JSON.
func cellsOf(row any, columns []string) ([]string, error) {
	text, err := json.Marshal(row)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	cells := make([]string, len(columns))
	for i, name := range columns {
		var text string
		switch value := members[name]; {
		case len(value) == 0 || string(value) == "null":
		case json.Unmarshal(value, &text) == nil:
			cells[i] = statement.ForPoints.Guard(text)
		default:
			cells[i] = string(value)
		}
	}
	return cells, nil
}

// file writes a file of the archive, and its row of the manifest.
func (e *export) file(name string, write func(io.Writer) (rows int, err error)) error {
	to, err := e.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: e.manifest.MadeAt.UTC().Truncate(2 * time.Second)})
	if err != nil {
		return err
	}
	counted := &counting{Writer: to, sum: sha256.New()}
	n, err := write(counted)
	if err != nil {
		return err
	}
	e.manifest.Files = append(e.manifest.Files, ManifestRow{name, n, counted.n, hex.EncodeToString(counted.sum.Sum(nil))})
	return nil
}

// counting counts and hashes what is written.
type counting struct {
	io.Writer
	sum hash.Hash
	n   int64
}

// Write implements io.Writer.
func (c *counting) Write(p []byte) (int, error) {
	c.sum.Write(p)
	c.n += int64(len(p))
	return c.Writer.Write(p)
}

// exportedMerchant is the merchant itself.
type exportedMerchant struct {
	ID         string             `json:"id"`
	Name       string             `json:"name"`
	Email      string             `json:"email"`
	Industry   string             `json:"industry"`
	Tier       tenants.Tier       `json:"tier"`
	Language   tenants.Language   `json:"language"`
	RefundFees tenants.RefundFees `json:"refundFees"`
	CreatedAt  view.Time          `json:"createdAt"`
	ClosedAt   *view.Time         `json:"closedAt"`
}

func (e *export) theMerchant(_ context.Context, put func(any) error) error {
	m := e.merchant
	row := exportedMerchant{m.ID, m.Name, m.Email, m.Industry, m.Tier, m.Language, m.RefundFees, view.Time{Time: m.CreatedAt}, nil}
	if m.Leaving.Closed() {
		row.ClosedAt = &view.Time{Time: m.Leaving.ClosedAt}
	}
	return put(row)
}

func (e *export) theShops(_ context.Context, put func(any) error) error {
	for _, s := range e.shops {
		if err := put(view.NewShop(s)); err != nil {
			return err
		}
	}
	return nil
}

// exportedMember is a user with a role at the merchant.
type exportedMember struct {
	Email string    `json:"email"`
	Name  string    `json:"name"`
	Role  string    `json:"role"`
	Since view.Time `json:"since"`
}

func (e *export) team(ctx context.Context, put func(any) error) error {
	list, err := e.l.Store.Users().Members(ctx, e.merchant.ID)
	if err != nil {
		return err
	}
	for _, u := range list {
		if err := put(exportedMember{u.Email, u.Name, string(u.Role), view.Time{Time: u.CreatedAt}}); err != nil {
			return err
		}
	}
	return nil
}

func (e *export) keys(ctx context.Context, put func(any) error) error {
	list, err := e.l.Store.Keys().List(ctx, e.merchant.ID)
	if err != nil {
		return err
	}
	for _, k := range list {
		if err := put(view.NewKey(k, time.Time{}, e.manifest.MadeAt.Time)); err != nil {
			return err
		}
	}
	return nil
}

// exportPage is how many rows are read at a time.
const exportPage = 500

// paged reads a list page by page, for each shop and environment.
func paged[T any](ctx context.Context, e *export, read func(context.Context, tenants.Scope, lists.Page) ([]T, int64, error), id func(T) string, put func(T) error) error {
	for _, s := range e.shops {
		for _, live := range []bool{true, false} {
			at := lists.Page{Limit: exportPage}
			for more := true; more; {
				list, _, err := read(ctx, tenants.Scope{Merchant: e.merchant.ID, Shop: s.ID, Live: live}, at)
				if err != nil {
					return err
				}
				for _, v := range list {
					at.After = id(v)
					if err := put(v); err != nil {
						return err
					}
				}
				more = len(list) == exportPage
			}
		}
	}
	return nil
}

func (e *export) webhooks(ctx context.Context, put func(any) error) error {
	return paged(ctx, e, e.l.Store.Subscriptions().List, func(s endpoints.Subscription) string { return s.ID }, func(s endpoints.Subscription) error { return put(view.NewSubscription(s)) })
}

func (e *export) paymentLinks(ctx context.Context, put func(any) error) error {
	now := e.manifest.MadeAt.Time
	return paged(ctx, e, func(ctx context.Context, scope tenants.Scope, page lists.Page) ([]pay.PaymentLink, int64, error) {
		return e.l.Store.PaymentLinks().List(ctx, scope, "", now, page)
	}, func(l pay.PaymentLink) string { return l.ID }, func(l pay.PaymentLink) error { return put(view.NewPaymentLink(l, now, e.l.CheckoutURL)) })
}

func (e *export) wallets(ctx context.Context, put func(any) error) error {
	return paged(ctx, e, func(ctx context.Context, scope tenants.Scope, page lists.Page) ([]pay.Wallet, int64, error) {
		return e.l.Store.Wallets().List(ctx, scope, "", page)
	}, func(w pay.Wallet) string { return w.ID }, func(w pay.Wallet) error { return put(view.NewWallet(w, "")) })
}

func (e *export) withdrawals(ctx context.Context, put func(any) error) error {
	return paged(ctx, e, func(ctx context.Context, scope tenants.Scope, page lists.Page) ([]pay.Withdrawal, int64, error) {
		return e.l.Store.Withdrawals().List(ctx, scope, lists.WithdrawalFilter{Page: page})
	}, func(w pay.Withdrawal) string { return w.ID }, func(w pay.Withdrawal) error { return put(view.NewWithdrawal(w)) })
}

func (e *export) eachClaim(ctx context.Context, put func(pay.Claim) error) error {
	return paged(ctx, e, func(ctx context.Context, scope tenants.Scope, page lists.Page) ([]pay.Claim, int64, error) {
		return e.l.Store.Claims().List(ctx, scope, lists.ClaimFilter{Page: page})
	}, func(c pay.Claim) string { return c.ID }, put)
}

func (e *export) claims(ctx context.Context, put func(any) error) error {
	return e.eachClaim(ctx, func(c pay.Claim) error { return put(view.NewClaim(c)) })
}

// settlements are the merchant's, not a shop's.
func (e *export) settlements(ctx context.Context, put func(any) error) error {
	for _, live := range []bool{true, false} {
		for below, more := int64(0), true; more; {
			list, _, err := e.l.Store.Settlements().List(ctx, tenants.Scope{Merchant: e.merchant.ID, Live: live}, lists.SettlementFilter{Page: lists.Page{Limit: exportPage}}, below)
			if err != nil {
				return err
			}
			for _, s := range list {
				if err := put(view.NewSettlement(s, "")); err != nil {
					return err
				}
				below = s.Number
			}
			more = len(list) == exportPage
		}
	}
	return nil
}

func (e *export) payments(ctx context.Context, put func(any) error) error {
	return paged(ctx, e, func(ctx context.Context, scope tenants.Scope, page lists.Page) ([]pay.Payment, int64, error) {
		list, err := e.l.Store.Payments().List(ctx, scope, lists.PaymentFilter{Page: page})
		return list, 0, err
	}, func(p pay.Payment) string { return p.ID }, func(p pay.Payment) error { return put(view.NewTransaction(&p, "")) })
}

// exportedTransfer is what moved a balance, in cents of US dollars.
type exportedTransfer struct {
	ID          string           `json:"id"`
	Kind        string           `json:"kind"`
	Environment string           `json:"environment"`
	Payment     string           `json:"payment"`
	Claim       string           `json:"claim"`
	At          view.Time        `json:"at"`
	Postings    map[string]int64 `json:"postings"`
}

func (e *export) transfers(ctx context.Context, put func(any) error) error {
	for _, live := range []bool{true, false} {
		scope := tenants.Scope{Merchant: e.merchant.ID, Live: live}
		var last ledger.Transfer
		for more := true; more; {
			list, err := e.l.Store.Books().Next(ctx, scope, last, exportPage)
			if err != nil {
				return err
			}
			for _, t := range list {
				if row := ownTransfer(t); len(row.Postings) > 0 {
					if err := put(row); err != nil {
						return err
					}
				}
			}
			if more = len(list) > 0; more {
				last = list[len(list)-1]
			}
		}
	}
	return nil
}

// ownTransfer shows a transfer's postings to the merchant's own accounts: what the operator earns is none of its business.
func ownTransfer(t ledger.Transfer) exportedTransfer {
	environment := tenants.Scope{Live: t.Live}.Environment()
	row := exportedTransfer{t.ID, string(t.Kind), string(environment), t.Payment, t.Claim, view.Time{Time: t.At}, map[string]int64{}}
	for _, p := range t.Postings {
		if slices.Contains(owned, p.Account) {
			row.Postings[string(p.Account)] += p.Amount
		}
	}
	return row
}

// evidence writes the files of evidence. One that was erased is left out.
func (e *export) evidence(ctx context.Context) error {
	return e.eachClaim(ctx, func(c pay.Claim) error {
		for _, piece := range c.Evidence {
			if piece.File == nil {
				continue
			}
			f, err := e.l.Store.Claims().File(ctx, c.Scope, c.ID, piece.ID)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			name := path.Join("evidence", c.ID, piece.ID+"-"+path.Base(path.Clean("/"+piece.File.Name)))
			if err := e.file(name, func(w io.Writer) (int, error) {
				_, err := w.Write(f.Content)
				return 0, err
			}); err != nil {
				return err
			}
		}
		return nil
	})
}
