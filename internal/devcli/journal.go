package devcli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// journal is where listen stands: a file with the moment from which events are asked for, and a line for each event since then that the
// endpoint got. A line is written as soon as the endpoint has answered. So after a crash one event at most is sent twice, and
// none is left out.
type journal struct {
	path string
	file *os.File
	lock *os.File
}

// errListening: another process has the journal.
var errListening = errors.New("another listen forwards this shop's events to the same address: end it first")

// head is the first line of a journal.
type head struct {
	Version int       `json:"version"`
	From    time.Time `json:"from"`
}

// identity names a directory by what is in it.
func identity(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:8])
}

// openJournal opens the journal of a shop's events to an address, for this process alone.
func openJournal(parts ...string) (*journal, error) {
	dir, err := configDir()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "listen")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, identity(parts...))
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, err
	}
	return &journal{path: path + ".journal", lock: lock}, nil
}

// read fills a feed with what the journal knows. It reports whether there was anything.
func (j *journal) read(f *feed) (bool, error) {
	text, err := os.ReadFile(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	var h head
	if json.Unmarshal(first, &h) != nil || h.Version != 1 {
		return false, nil // begin anew
	}
	f.from, f.known = h.From, map[string]time.Time{}
	if end := bytes.LastIndexByte(rest, '\n'); end >= 0 {
		for line := range strings.Lines(string(rest[:end+1])) { // what is behind was not written whole
			id, at, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if t, err := time.Parse(time.RFC3339Nano, at); err == nil && id != "" {
				f.known[id] = t
			}
		}
	}
	return true, nil
}

// rewrite replaces the journal by what a feed knows. No event waits.
func (j *journal) rewrite(f *feed) error {
	if j.file != nil {
		_ = j.file.Close()
	}
	var text bytes.Buffer
	line, err := json.Marshal(head{1, f.from})
	if err != nil {
		return err
	}
	text.Write(append(line, '\n'))
	for id, at := range f.known {
		text.WriteString(entry(id, at))
	}
	if err := writePrivate(j.path, text.Bytes()); err != nil {
		return fmt.Errorf("remember which events were forwarded: %w", err)
	}
	j.file, err = os.OpenFile(j.path, os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

func entry(id string, at time.Time) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' {
			return '_'
		}
		return r
	}, id) + " " + at.UTC().Format(time.RFC3339Nano) + "\n"
}

// done writes that an event reached the endpoint.
func (j *journal) done(e event) error {
	_, err := j.file.WriteString(entry(e.ID, e.CreatedAt))
	if err != nil {
		return fmt.Errorf("remember which events were forwarded: %w", err)
	}
	return nil
}

// close lets others have the journal.
func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close()
	}
	_ = j.lock.Close()
}

// secretOf returns the signing secret of a shop, which is made once and stays: it is in the developer's settings.
func secretOf(parts ...string) (string, error) {
	dir, err := configDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "listen", identity(parts...)+".secret")
	text, err := os.ReadFile(path)
	if secret := strings.TrimSpace(string(text)); err == nil && strings.HasPrefix(secret, secretPrefix) {
		return secret, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	secret := newSecret()
	return secret, writePrivate(path, []byte(secret+"\n"))
}
