package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/daemon/masterkey"
)

func (c Config) keyPlace() masterkey.Place {
	return masterkey.Place{Database: c.Database, Keys: c.MasterKey, File: c.MasterKeyFile}
}

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
	path, err := c.keyPlace().KeyFile()
	if err != nil {
		return masterkey.Parse(c.MasterKey, "CASCADA_MASTER_KEY")
	}
	keys, err := masterkey.Read(path)
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
		keys, err := masterkey.Read(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: the database has a master key already; put its file there, or set CASCADA_MASTER_KEY", err)
		}
		return keys, err
	}
	return masterkey.Create(path, c.Log)
}
