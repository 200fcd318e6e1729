// Package masterkey reads, makes and changes the files of the master keys, which encrypt the secrets in a database.
package masterkey

import (
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

	"github.com/cascadapay/cascada/internal/vault"
)

// Place is where the master keys of a database are configured.
type Place struct {
	Database string // sqlite:PATH or postgres://…
	Keys     string // the keys themselves, newest last, each 32 bytes in base64, separated by white space or commas
	File     string // the file that holds them if Keys is empty; "" means the default file
}

// KeyFile is the file of the master keys. It fails if they are configured without a file.
func (p Place) KeyFile() (string, error) {
	if p.Keys != "" {
		return "", errors.New("the master keys are in CASCADA_MASTER_KEY, not in a file")
	}
	if p.File != "" {
		return p.File, nil
	}
	if file, isSQLite := strings.CutPrefix(p.Database, "sqlite:"); isSQLite {
		return file + ".key", nil
	}
	return "cascada.key", nil
}

// New makes a master key in the form of a key file.
func New() string {
	key := make([]byte, vault.KeySize)
	_, _ = rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}

// Add appends a new master key to a key file, and returns the key's fingerprint.
// The key is not used yet.
func Add(path string) (fingerprint string, err error) {
	return fingerprint, rewrite(path, func(keys [][]byte) ([][]byte, error) {
		added, err := Parse(New(), path)
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

// Remove removes a master key from a file. The file keeps at least one.
func Remove(path, fingerprint string) error {
	return rewrite(path, func(keys [][]byte) ([][]byte, error) {
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

// rewrite replaces a whole key file: a reader finds the old file or the new one.
// Of two simultaneous changes one is refused: the new file's name is the lock.
func rewrite(path string, change func([][]byte) ([][]byte, error)) error {
	next := path + ".new"
	file, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: another command is changing the master keys, or was killed while it did. If none runs, delete that file and try again", next)
	}
	if err != nil {
		return fmt.Errorf("write the master keys: %w", err)
	}
	err = func() error {
		keys, err := Read(path)
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

// temporaryFile writes master keys beside a file, mode 0600.
func temporaryFile(path string, keys [][]byte) (string, error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".cascada-key-*")
	if err != nil {
		return "", fmt.Errorf("write a master key: %w", err)
	}
	if err := errors.Join(writeKeys(temporary, keys), temporary.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("write a master key: %w", err), os.Remove(temporary.Name()))
	}
	return temporary.Name(), nil
}

// Create makes a master key and writes it to a new file, unless another process has just done so.
func Create(path string, log *slog.Logger) ([][]byte, error) {
	keys, err := Parse(New(), path)
	if err != nil {
		return nil, err
	}
	// Linked into place as a whole: of two processes that start at once one wins, and the
	// other reads the winner's key.
	temporary, err := temporaryFile(path, keys)
	if err != nil {
		return nil, err
	}
	defer os.Remove(temporary)
	err = os.Link(temporary, path)
	if errors.Is(err, fs.ErrExist) {
		return Read(path)
	}
	if err != nil {
		return nil, fmt.Errorf("write the master key: %w", err)
	}
	log.Warn("a master key was created: keep a copy of it apart from the database; without it no key or webhook secret can be read",
		"file", path)
	return keys, nil
}

// Read returns the master keys in a file, newest last. The error of a missing file is fs.ErrNotExist.
func Read(path string) ([][]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the master key: %w", err)
	}
	return Parse(string(text), path)
}

// Parse returns the master keys in a text, newest last; where is the text's place, for the error, which shows no part of the text.
func Parse(text, where string) (keys [][]byte, err error) {
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
