package daemon

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/vault"
)

// masterKeys are the configured keys, or those of the key file, which the first start
// creates (design: Bootstrap). All other reasons to refuse the start have been checked
// before: a key that was created belongs to a database.
func masterKeys(ctx context.Context, c Config) ([][]byte, error) {
	if err := app.CheckAddress(c.Database); err != nil {
		return nil, err
	}
	file, isSQLite := strings.CutPrefix(c.Database, "sqlite:")
	if isSQLite && c.Existing {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("there is no database at %s: %w", file, err)
		}
	}
	path, err := c.MasterKeyPath()
	if err != nil {
		return parseMasterKeys(c.MasterKey, "CASCADA_MASTER_KEY")
	}
	keys, err := readMasterKeys(path)
	if errors.Is(err, fs.ErrNotExist) && c.Existing {
		return nil, fmt.Errorf("%w: run it where the server keeps its key, or set CASCADA_MASTER_KEY", err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	keyed, err := app.Keyed(ctx, c.Database, c.Migrations)
	if err != nil {
		return nil, err
	}
	if keyed { // by a process that has created its key since, or the file was lost
		keys, err := readMasterKeys(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: the database has a master key already; put its file there, or set CASCADA_MASTER_KEY", err)
		}
		return keys, err
	}
	return makeMasterKey(path, c.Log)
}

// MasterKeyPath is the file of the master keys. It fails if they are configured without a
// file.
func (c Config) MasterKeyPath() (string, error) {
	if c.MasterKey != "" {
		return "", errors.New("the master keys are in CASCADA_MASTER_KEY, not in a file")
	}
	if c.MasterKeyFile != "" {
		return c.MasterKeyFile, nil
	}
	if file, isSQLite := strings.CutPrefix(c.Database, "sqlite:"); isSQLite {
		return file + ".key", nil
	}
	return "cascada.key", nil
}

// NewMasterKey makes a master key in the form of a key file.
func NewMasterKey() string {
	key := make([]byte, vault.KeySize)
	_, _ = rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}

// AddMasterKey appends a new master key to a key file, and returns the key's fingerprint.
// The key is not used yet.
func AddMasterKey(path string) (fingerprint string, err error) {
	return fingerprint, changeMasterKeys(path, func(keys [][]byte) ([][]byte, error) {
		added, err := parseMasterKeys(NewMasterKey(), path)
		if err != nil {
			return nil, err
		}
		keys = append(keys, added...)
		v, err := vault.New(keys...)
		if err != nil {
			return nil, err
		}
		fingerprint = v.Newest()
		return keys, nil
	})
}

// RemoveMasterKey removes a master key from a file. The file keeps at least one.
func RemoveMasterKey(path, fingerprint string) error {
	return changeMasterKeys(path, func(keys [][]byte) ([][]byte, error) {
		left := slices.DeleteFunc(slices.Clone(keys), func(key []byte) bool {
			v, err := vault.New(key)
			return err == nil && v.Newest() == fingerprint
		})
		if len(left) == 0 || len(left) == len(keys) {
			return nil, fmt.Errorf("%s: there is no key %s, or it is the only one", path, fingerprint)
		}
		return left, nil
	})
}

// changeMasterKeys replaces a whole key file: a reader finds the old file or the new one.
// Of two simultaneous changes one is refused: the new file's name is the lock.
func changeMasterKeys(path string, change func([][]byte) ([][]byte, error)) error {
	next := path + ".new"
	file, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: another command is changing the master keys, or was killed while it did. If none runs, delete that file and try again", next)
	}
	if err != nil {
		return fmt.Errorf("write the master keys: %w", err)
	}
	err = func() error {
		keys, err := readMasterKeys(path)
		if err == nil {
			keys, err = change(keys)
		}
		if err == nil {
			err = writeKeys(file, keys)
		}
		return errors.Join(err, file.Close())
	}()
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("change the master keys: %w", err), os.Remove(next))
	}
	return nil
}

// writeKeys writes master keys, a line each, and waits for the disk.
func writeKeys(file *os.File, keys [][]byte) error {
	for _, key := range keys {
		if _, err := file.WriteString(base64.StdEncoding.EncodeToString(key) + "\n"); err != nil {
			return err
		}
	}
	return file.Sync()
}

// temporaryKeys writes master keys beside a file, mode 0600.
func temporaryKeys(path string, keys [][]byte) (string, error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".cascada-key-*")
	if err != nil {
		return "", fmt.Errorf("write a master key: %w", err)
	}
	if err := errors.Join(writeKeys(temporary, keys), temporary.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("write a master key: %w", err), os.Remove(temporary.Name()))
	}
	return temporary.Name(), nil
}

// makeMasterKey writes a key file, unless another process has just done so.
func makeMasterKey(path string, log *slog.Logger) ([][]byte, error) {
	keys, err := parseMasterKeys(NewMasterKey(), path)
	if err != nil {
		return nil, err
	}
	// Linked into place as a whole: of two processes that start at once one wins, and the
	// other reads the winner's key.
	temporary, err := temporaryKeys(path, keys)
	if err != nil {
		return nil, err
	}
	defer os.Remove(temporary)
	err = os.Link(temporary, path)
	if errors.Is(err, fs.ErrExist) {
		return readMasterKeys(path)
	}
	if err != nil {
		return nil, fmt.Errorf("write the master key: %w", err)
	}
	log.Warn("a master key was created: keep a copy of it apart from the database; without it no key or webhook secret can be read",
		"file", path)
	return keys, nil
}

func readMasterKeys(path string) ([][]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the master key: %w", err)
	}
	return parseMasterKeys(string(text), path)
}

func parseMasterKeys(text, where string) (keys [][]byte, err error) {
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == ',' }) {
		key, err := base64.StdEncoding.DecodeString(one)
		if err != nil || len(key) != vault.KeySize {
			return nil, fmt.Errorf("%s: want %d bytes in base64 (openssl rand -base64 32)", where, vault.KeySize)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: there is no key in it; want %d bytes in base64 (openssl rand -base64 32)", where, vault.KeySize)
	}
	return keys, nil
}
