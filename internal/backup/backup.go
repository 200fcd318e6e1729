// Package backup turns a copy of a database into a backup file, and a backup file into a
// copy: whole or not at all, readable only by the owner, and encrypted to the operator's
// recipients (age, https://age-encryption.org).
//
// It knows nothing about the contents of the copy.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
)

// ErrExists means that the name for a file is already in use.
var ErrExists = errors.New("the file exists already, and existing files are never overwritten")

// Recipients reads the recipients of a file: an age recipient, or @FILE with one per line.
func Recipients(words []string) (list []age.Recipient, err error) {
	for _, word := range words {
		text := word
		if path, isFile := strings.CutPrefix(word, "@"); isFile {
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("recipients: %w", err)
			}
			text = string(content)
		}
		found, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("recipient %q: %w; want one such as age1…, from age-keygen", word, err)
		}
		list = append(list, found...)
	}
	return list, nil
}

// Identities reads the file of identities that open a backup.
func Identities(path string) ([]age.Identity, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("identities: %w", err)
	}
	defer file.Close()
	list, err := age.ParseIdentities(file)
	if err != nil {
		return nil, fmt.Errorf("identities in %s: %w", path, err)
	}
	return list, nil
}

// Free fails if a name is in use.
//
// Errors: ErrExists.
func Free(path string) error {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return fmt.Errorf("%s: %w", path, ErrExists)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// Encrypt writes in to a file beside path, encrypted if there are recipients, and renames
// it to path once it is on disk.
//
// Errors: the context's, ErrExists.
func Encrypt(ctx context.Context, in io.Reader, path string, to []age.Recipient) error {
	in = while{ctx, in}
	return place(path, func(out io.Writer) error {
		if len(to) == 0 {
			_, err := io.Copy(out, in)
			return err
		}
		encrypted, err := age.Encrypt(out, to...)
		if err != nil {
			return err
		}
		if _, err := io.Copy(encrypted, in); err != nil {
			return err
		}
		return encrypted.Close()
	})
}

// intro begins each file that age encrypted.
const intro = "age-encryption.org/"

// Open writes a backup's contents to an existing file, for instance a Temporary, and
// reports whether the backup was encrypted.
//
// Errors: the context's; the backup is encrypted and no identity opens it; it was changed.
func Open(ctx context.Context, path, to string, by []age.Identity) (encrypted bool, err error) {
	in, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer in.Close()
	head := make([]byte, len(intro))
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	var content io.Reader = in
	if encrypted = string(head[:n]) == intro; encrypted {
		if len(by) == 0 {
			return true, fmt.Errorf("%s is encrypted: give its --identity", path)
		}
		if content, err = age.Decrypt(in, by...); err != nil {
			return true, fmt.Errorf("%s: %w", path, err)
		}
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return encrypted, err
	}
	_, err = io.Copy(out, while{ctx, content})
	return encrypted, errors.Join(err, out.Close())
}

// while reads until the context ends.
type while struct {
	ctx  context.Context
	from io.Reader
}

func (w while) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.from.Read(p)
}

// place writes a whole file, and renames it once it is on disk.
func place(path string, write func(io.Writer) error) error {
	temporary, drop, err := Temporary(path)
	if err != nil {
		return err
	}
	defer drop()
	file, err := os.OpenFile(temporary, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return err
	}
	return Keep(temporary, path)
}

// Keep gives a complete file another name on the same disk, after it is on disk. It
// overwrites nothing.
//
// Errors: ErrExists.
func Keep(file, path string) error {
	if err := sync(file); err != nil {
		return err
	}
	err := os.Link(file, path)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", path, ErrExists)
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(file), sync(filepath.Dir(path)))
}

// sync waits until a file, or the names in a directory, are on disk.
func sync(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
