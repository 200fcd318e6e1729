package books

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"filippo.io/age"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/recovery"
	"github.com/cascadapay/cascada/internal/backup"
	"github.com/cascadapay/cascada/internal/cli"
)

// Backup is cascada backup.
type Backup struct {
	cli.DatabaseFlags
	File      string   `arg:"" help:"File for the copy; it must not exist yet."`
	EncryptTo []string `placeholder:"RECIPIENT" sep:"none" help:"Encrypt the copy for this age recipient (age1…, made by age-keygen), or for those in @FILE; only the recipient's identity opens it. Repeat the flag for more."`
	WithKey   bool     `help:"Save the master key too, as FILE.key, encrypted for the same recipients. A restore needs only these two files and an identity."`
	Unchecked bool     `help:"Do not check the copy; cascada restore checks it."`
}

// errOneFile refers operators of PostgreSQL to its own tools.
var errOneFile = errors.New("this command is for SQLite files; back up PostgreSQL with its own tools (pgBackRest, or WAL archiving: see docs/BACKUPS.md)")

func (b *Backup) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[*app.App]) error {
	ctx, stop := unlessEnded(ctx)
	defer stop()
	path, oneFile := recovery.DatabaseFile(b.Database)
	if !oneFile {
		return errOneFile
	}
	to, err := backup.Recipients(b.EncryptTo)
	if err != nil {
		return err
	}
	if b.WithKey && len(to) == 0 {
		return errors.New("--with-key needs --encrypt-to: a master key in clear text decrypts every secret")
	}
	keys, err := b.Config(log).KeyFile()
	if err != nil && b.WithKey {
		return err
	}
	for _, name := range []string{b.File, b.File + ".key"} {
		if err := backup.Free(name); err != nil && (name == b.File || b.WithKey) {
			return err
		}
	}
	size, at, err := b.copy(ctx, log, adapters, open, to)
	if err != nil {
		return err
	}
	proved := "every invariant holds in it"
	if b.Unchecked {
		proved = "it was not checked"
	}
	fmt.Fprintf(cli.Stdout, "copied %s to %s: %.1f MB as of %s; %s\n", path, b.File, float64(size)/1e6, at.UTC().Format(time.RFC3339), proved)
	if !b.WithKey {
		fmt.Fprintf(cli.Stdout, "the copy does not contain the master key, and cannot be used without %s. Keep a copy of that elsewhere, or use --encrypt-to with --with-key\n", cmp.Or(keys, "CASCADA_MASTER_KEY"))
		return nil
	}
	file, err := os.Open(keys)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := backup.Encrypt(ctx, file, b.File+".key", to); err != nil {
		return fmt.Errorf("copy the master key: %w", err)
	}
	fmt.Fprintf(cli.Stdout, "the master key is in %s.key, encrypted\n", b.File)
	return nil
}

// copy makes the copy, checks it, and renames it to its final name.
func (b *Backup) copy(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[*app.App], to []age.Recipient) (size int64, at time.Time, err error) {
	temporary, drop, err := backup.Temporary(b.File)
	if err != nil {
		return 0, at, err
	}
	defer drop()
	if at, err = recovery.CopyFile(ctx, b.Database, temporary); err != nil {
		return 0, at, err
	}
	err = proved(ctx, b.DatabaseFlags, log, adapters, open, temporary, !b.Unchecked, func(a *app.App) error { return a.Recovery.MarkCopy(ctx, at) })
	if err != nil {
		return 0, at, fmt.Errorf("the copy: %w", err)
	}
	info, err := os.Stat(temporary)
	if err != nil {
		return 0, at, err
	}
	if len(to) == 0 {
		return info.Size(), at, backup.Keep(temporary, b.File)
	}
	in, err := os.Open(temporary)
	if err != nil {
		return 0, at, err
	}
	defer in.Close()
	return info.Size(), at, backup.Encrypt(ctx, in, b.File, to)
}

// proved opens a copy of the database with the master key, runs do on it, and checks it.
func proved(ctx context.Context, d cli.DatabaseFlags, log *slog.Logger, adapters cli.Registry, open cli.Opener[*app.App], file string, check bool, do func(*app.App) error) (err error) {
	config := d.OperatorConfig(log)
	if config.Keys == "" {
		path, err := config.KeyFile() // from the database's name, not the copy's
		if err != nil {
			return err
		}
		config.File = path
	}
	config.Database, config.Adapters = "sqlite:"+file, adapters
	config.Migrate = true // nobody else uses the copy
	a, err := open(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		a.Close()
		// What is only in the WAL would be missing in the file that is kept.
		if log, statErr := os.Stat(file + "-wal"); statErr == nil && log.Size() > 0 {
			err = errors.Join(err, errors.New("its WAL could not be written into the file"))
		}
	}()
	if err := do(a); err != nil || !check {
		return err
	}
	broken, err := a.Check(ctx)
	for _, b := range broken {
		fmt.Fprintln(cli.Stdout, "broken:", b)
	}
	if err == nil && len(broken) > 0 {
		err = fmt.Errorf("%d broken", len(broken))
	}
	return err
}

// unlessEnded returns a context that ends when the process is told to stop, so that the command removes its temporary files.
func unlessEnded(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP, os.Interrupt)
}

// Restore is cascada restore.
type Restore struct {
	cli.DatabaseFlags
	File      string `arg:"" type:"existingfile" help:"Backup, made by cascada backup."`
	Identity  string `type:"existingfile" placeholder:"FILE" help:"File with the age identity that decrypts the backup, if it is encrypted."`
	WithKey   bool   `help:"Restore the master key from FILE.key, if there is none yet."`
	MoveAside bool   `help:"If there is a database at that path, rename it to PATH.before-TIME first. It is never deleted."`
	From      string `placeholder:"TIME" help:"Time of the copy, if another program made it: only cascada backup records the time in it."`
}

func (r *Restore) Run(ctx context.Context, log *slog.Logger, adapters cli.Registry, open cli.Opener[*app.App]) (err error) {
	ctx, stop := unlessEnded(ctx)
	defer stop()
	path, oneFile := recovery.DatabaseFile(r.Database)
	if !oneFile {
		return errOneFile
	}
	from, err := cli.Instant("--from", r.From, time.UTC)
	if err != nil {
		return err
	}
	release, err := recovery.Alone(r.Database)
	if err != nil {
		return err
	}
	defer release()
	for _, name := range []string{path, path + "-wal"} {
		if err := backup.Free(name); err != nil && !r.MoveAside {
			return fmt.Errorf("%w: --move-aside renames it", err)
		}
	}
	by, err := r.identities()
	if err != nil {
		return err
	}
	key, err := r.restoreKey(ctx, log, by)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && key != "" { // no key stays without its database
			err = errors.Join(err, os.Remove(key))
		}
	}()
	temporary, drop, err := backup.Temporary(path)
	if err != nil {
		return err
	}
	defer drop()
	if _, err := backup.Open(ctx, r.File, temporary, by); err != nil {
		return err
	}
	if err := r.copied(ctx, temporary); err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	var lost recovery.Status
	err = proved(ctx, r.DatabaseFlags, log, adapters, open, temporary, true, func(a *app.App) error {
		_, marked, err := a.Recovery.Restored(ctx)
		if err == nil && !marked {
			if from.IsZero() {
				return errors.New("its time is unknown, because cascada backup did not make it: give the time with --from")
			}
			_, err = a.Recovery.BeginRecovery(ctx, from, time.Time{})
		}
		if err == nil {
			lost, err = a.Recovery.Recovery(ctx)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.putBack(temporary, path, key, lost)
}

// copied refuses a damaged file, and one that is not a database of Cascada: an empty file would become one.
func (r *Restore) copied(ctx context.Context, temporary string) error {
	if err := recovery.Sound(ctx, temporary); err != nil {
		return err
	}
	list, err := app.Migrations(ctx, "sqlite:"+temporary, r.NextMigrations())
	if err == nil && !slices.ContainsFunc(list, func(m app.Migration) bool { return m.Done }) {
		err = errors.New("it is empty, or belongs to another program: it is not a database of Cascada")
	}
	return err
}

// putBack moves the database to its path. Files that root has created get the owner who runs the
// service. key is the file of the master key, if it was restored too.
func (r *Restore) putBack(temporary, path, key string, lost recovery.Status) error {
	aside, err := recovery.MoveAside(path, lost.To)
	if err != nil {
		return err
	}
	owner := filepath.Dir(path)
	if aside != "" {
		owner = aside
		fmt.Fprintf(cli.Stdout, "the old database is now %s\n", aside)
	}
	for _, name := range []string{temporary, path + ".lock", key} {
		if err := backup.Inherit(name, owner); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := backup.Keep(temporary, path); err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "restored %s as of %s; every invariant holds\n", path, lost.From.Format(time.RFC3339))
	printRecovery(lost)
	return nil
}

func (r *Restore) identities() ([]age.Identity, error) {
	if r.Identity == "" {
		return nil, nil
	}
	return backup.Identities(r.Identity)
}

// restoreKey restores the master key from the file beside the backup, and returns its path.
func (r *Restore) restoreKey(ctx context.Context, log *slog.Logger, by []age.Identity) (string, error) {
	if !r.WithKey {
		return "", nil
	}
	path, err := r.Config(log).KeyFile()
	if err != nil {
		return "", err
	}
	if err := backup.Free(path); err != nil {
		return "", fmt.Errorf("%w: leave out --with-key to use it", err)
	}
	temporary, drop, err := backup.Temporary(path)
	if err != nil {
		return "", err
	}
	defer drop()
	if _, err := backup.Open(ctx, r.File+".key", temporary, by); err != nil {
		return "", err
	}
	return path, backup.Keep(temporary, path)
}
