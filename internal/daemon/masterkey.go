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
	"strings"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/vault"
)

// masterKey is the configured key, or that of the key file, which is made on
// the first start (design: Bootstrap). Whatever else would refuse the start has
// been asked before: a key that was made belongs to a database.
func masterKey(ctx context.Context, c Config) ([]byte, error) {
	if err := app.CheckAddress(c.Database); err != nil {
		return nil, err
	}
	file, isSQLite := strings.CutPrefix(c.Database, "sqlite:")
	if isSQLite && c.Existing {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("there is no database at %s: %w", file, err)
		}
	}
	if c.MasterKey != "" {
		return parseMasterKey(c.MasterKey, "CASCADA_MASTER_KEY")
	}
	path := "cascada.key"
	if isSQLite {
		path = file + ".key"
	}
	key, err := readMasterKey(path)
	if errors.Is(err, fs.ErrNotExist) && c.Existing {
		return nil, fmt.Errorf("%w: run it where the server keeps its key, or set CASCADA_MASTER_KEY", err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	keyed, err := app.Keyed(ctx, c.Database)
	if err != nil {
		return nil, err
	}
	if keyed { // by a process that made its key since, or the file was lost
		key, err := readMasterKey(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: the database has a master key already; put its file there, or set CASCADA_MASTER_KEY", err)
		}
		return key, err
	}
	return makeMasterKey(path, c.Log)
}

// makeMasterKey writes a key file, unless somebody else just did.
func makeMasterKey(path string, log *slog.Logger) ([]byte, error) {
	key := make([]byte, vault.KeySize)
	_, _ = rand.Read(key) // never fails
	text := base64.StdEncoding.EncodeToString(key)
	// Linked into place whole: of two processes that start at the same time one
	// wins, and the other reads the winner's.
	temporary, err := os.CreateTemp(filepath.Dir(path), ".cascada-key-*")
	if err != nil {
		return nil, fmt.Errorf("write a master key: %w", err)
	}
	defer os.Remove(temporary.Name())
	_, writeErr := temporary.WriteString(text + "\n")
	if err := errors.Join(writeErr, temporary.Sync(), temporary.Close()); err != nil {
		return nil, fmt.Errorf("write a master key: %w", err)
	}
	err = os.Link(temporary.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		return readMasterKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("write the master key: %w", err)
	}
	log.Warn("a master key was made: keep a copy of it apart from the database; without it no key or webhook secret can be read",
		"file", path)
	return key, nil
}

func readMasterKey(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the master key: %w", err)
	}
	return parseMasterKey(string(text), path)
}

func parseMasterKey(text, where string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != vault.KeySize {
		return nil, fmt.Errorf("%s: want %d bytes in base64 (openssl rand -base64 32)", where, vault.KeySize)
	}
	return key, nil
}
