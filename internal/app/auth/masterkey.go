package auth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/vault"
)

// MasterKeys returns this process's master keys: their fingerprints, newest last, the one that
// encrypts, and how many texts are encrypted under each. Texts that none of them decrypts are
// counted under "".
func (sc *Secrets) MasterKeys(ctx context.Context) (keys []string, current string, encrypted map[string]int, err error) {
	encrypted = map[string]int{}
	err = sc.eachEncrypted(ctx, func(texts []text, _ func([][]byte) error) error {
		for _, t := range texts {
			encrypted[sc.Vault.EncryptedBy(t.about, t.encrypted)]++
		}
		return nil
	})
	return sc.Vault.Keys(), sc.Vault.Current(), encrypted, err
}

// RotateMasterKey makes the newest master key of this process the one that encrypts from now on.
// Other processes learn of it within seconds, and must have it.
//
// Errors: conflict_state if it is the current one already; those of base.DualControls.Require.
func (sc *Secrets) RotateMasterKey(ctx context.Context, by audit.Actor) error {
	err := base.Again(func() error {
		list, err := sc.Store.Secrets().List(ctx)
		if err != nil {
			return err
		}
		if err := sc.heed(list); err != nil {
			return err
		}
		before, newest := sc.Vault.Current(), sc.Vault.Newest()
		if before == newest {
			return problem.New(problem.ConflictState, masterKeyCurrent.With(newest))
		}
		if err := sc.Dual.Require(ctx, by, base.Ask{
			Right: operators.Machine, Kind: "master_key.rotate", Subject: newest, Details: map[string]string{"before": before}, Secret: newest,
		}); err != nil {
			return err
		}
		root, _ := Find(list, vault.RootID)
		return sc.Store.Commit(ctx, pay.Change{
			Secrets: []merchants.Encrypted{root.Replace(sc.Vault.Pass())},
			Audit:   sc.Audited(by, merchants.Scope{Live: true}, audit.MasterKeyRotated, newest, map[string]string{"before": before}),
		})
	})
	if err != nil {
		return err
	}
	return sc.ReadSecrets(ctx)
}

// ReencryptTexts encrypts again the texts that are under a master key other than the current one. It
// can be interrupted at any time, and skips texts that are done.
func (sc *Secrets) ReencryptTexts(ctx context.Context) error {
	list, err := sc.Store.Secrets().List(ctx)
	if err != nil {
		return err
	}
	current := sc.Vault.Current()
	if _, done := Find(list, ReencryptedID+current); done {
		return nil
	}
	heard := sc.Now().Sub(*sc.tokens.masterSince.Load()) >= allHear
	n, err := sc.Reencrypt(ctx)
	if err != nil || n > 0 || !heard { // a look after all nodes know the key finds what they encrypted before
		return err
	}
	return base.UnlessStale(sc.Store.Commit(ctx, pay.Change{Secrets: []merchants.Encrypted{sc.NewEncrypted(ReencryptedID+current, []byte(current))}}))
}

// Reencrypted waits until no text is, or can still become, encrypted under a master key other than the
// current one: until all nodes know the current one.
func (sc *Secrets) Reencrypted(ctx context.Context) error {
	for {
		if err := sc.ReencryptTexts(ctx); err != nil {
			return err
		}
		list, err := sc.Store.Secrets().List(ctx)
		if err != nil {
			return err
		}
		if _, done := Find(list, ReencryptedID+sc.Vault.Current()); done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// Reencrypt encrypts again the texts that are under a master key other than the current one, and
// returns their number.
func (sc *Secrets) Reencrypt(ctx context.Context) (n int, err error) {
	err = sc.eachEncrypted(ctx, func(texts []text, write func([][]byte) error) error {
		fresh, changed := make([][]byte, len(texts)), 0
		for i, t := range texts {
			again, other, err := sc.Vault.Reencrypt(t.about, t.encrypted)
			if err != nil {
				sc.Log.ErrorContext(ctx, "no master key of this process opens a text", "text", t.about, "error", err)
			}
			if fresh[i] = again; other {
				changed++
			}
		}
		if changed == 0 {
			return nil
		}
		n += changed
		if err := write(fresh); !errors.Is(err, store.ErrStale) { // stale: encrypted under the new one already, or found again
			return err
		}
		return nil
	})
	if n > 0 {
		sc.Log.InfoContext(ctx, "secrets were encrypted again", "texts", n, "master_key", sc.Vault.Current())
	}
	return n, err
}

// text is an encrypted text and what it belongs to.
type text struct {
	about     string
	encrypted []byte
}

// eachEncrypted calls do for the encrypted texts of every row, with the function that writes them
// again.
func (sc *Secrets) eachEncrypted(ctx context.Context, do func(texts []text, write func([][]byte) error) error) error {
	list, err := sc.Store.Secrets().List(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.ID == vault.RootID || strings.HasPrefix(s.ID, ReencryptedID) { // the root is written only by a rotation
			continue
		}
		if err := do([]text{{s.ID, s.Text}}, func(fresh [][]byte) error {
			return sc.Store.Commit(ctx, pay.Change{Secrets: []merchants.Encrypted{s.Replace(fresh[0])}})
		}); err != nil {
			return err
		}
	}
	all, err := sc.Store.Accounts().List(ctx)
	if err != nil {
		return err
	}
	for _, account := range all {
		of := encryptedIn{{appaccounts.CredentialsOf(account.ID), &account.Credentials}, {appaccounts.PastOf(account.ID), &account.Before}}
		if err := of.each(do, func() error {
			account.Version++
			return sc.Store.Commit(ctx, pay.Change{Accounts: []accounts.Account{account}})
		}); err != nil {
			return err
		}
	}
	if err := pages(func(after string) (string, error) {
		list, err := sc.Store.Wallets().After(ctx, after, encryptBatch)
		for _, w := range list {
			of := encryptedIn{{w.Secret(), &w.Encrypted}, {w.HolderSecret(), &w.Holder}}
			if err := of.each(do, func() error {
				w.Version++
				return sc.Store.Commit(ctx, pay.Change{Wallets: []pay.Wallet{w}})
			}); err != nil {
				return "", err
			}
			after = w.ID
		}
		return next(after, len(list)), err
	}); err != nil {
		return err
	}
	if err := sc.eachFile(ctx, do); err != nil {
		return err
	}
	return pages(func(after string) (string, error) {
		list, err := sc.Store.Subscriptions().After(ctx, after, encryptBatch)
		for _, sub := range list {
			of := encryptedIn{{sub.ID, &sub.Secret}, {sub.ID, &sub.PreviousSecret}, {webhooks.AuthenticationOf(sub.ID, sub.URL), &sub.Authentication.Encrypted}}
			if err := of.each(do, func() error {
				sub.Version++
				return sc.Store.Commit(ctx, pay.Change{Subscriptions: []webhooks.Subscription{sub}})
			}); err != nil {
				return "", err
			}
			after = sub.ID
		}
		return next(after, len(list)), err
	})
}

// eachFile is eachEncrypted for the files of payout batches, one at a time, because one may have
// megabytes.
func (sc *Secrets) eachFile(ctx context.Context, do func([]text, func([][]byte) error) error) error {
	return pages(func(after string) (string, error) {
		b, err := sc.Store.Batches().After(ctx, after)
		if errors.Is(err, store.ErrNotFound) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		of := encryptedIn{{b.Secret(), &b.File}}
		return b.ID, of.each(do, func() error {
			b.Version++
			return sc.Store.Commit(ctx, pay.Change{Batches: []pay.Batch{b}})
		})
	})
}

// pages reads page after page until there is no next one.
func pages(read func(after string) (next string, err error)) error {
	for after := ""; ; {
		following, err := read(after)
		if err != nil || following == "" {
			return err
		}
		after = following
	}
}

func next(last string, rows int) string {
	if rows < encryptBatch {
		return ""
	}
	return last
}

// column is an encrypted column of a row. It may be empty.
type column struct {
	about string
	of    *[]byte
}

// encryptedIn are the encrypted columns of a row.
type encryptedIn []column

func (e encryptedIn) each(do func([]text, func([][]byte) error) error, write func() error) error {
	e = slices.DeleteFunc(e, func(c column) bool { return len(*c.of) == 0 })
	texts := make([]text, 0, len(e))
	for _, c := range e {
		texts = append(texts, text{c.about, *c.of})
	}
	return do(texts, func(fresh [][]byte) error {
		for i, c := range e {
			*c.of = fresh[i]
		}
		return write()
	})
}
