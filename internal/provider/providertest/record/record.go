// Package record writes down what adapters send in their tests, what the fakes answer, and the notifications that fakes
// sign, for make conform, which asks the providers' own libraries about each.
package record

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
)

// To is the environment variable with the folder for the records: a file for each adapter, with an Entry on each line.
// Without it nothing is recorded.
const To = "CASCADA_RECORD"

// Entry is a call (Method), a notification (Notice), or the credentials of an account.
type Entry struct {
	Method, Path, Query string              `json:",omitempty"`
	Header              http.Header         `json:",omitempty"`
	Body                string              `json:",omitempty"`
	Status              int                 `json:",omitempty"` // 0: the answer is not the fake's
	Answer              string              `json:",omitempty"`
	Notice              bool                `json:",omitempty"`
	Asked               map[string][]string `json:",omitempty"` // the query of a notification
	Credentials         map[string]string   `json:",omitempty"`
}

// file is nil if nothing is recorded.
var file = sync.OnceValue(func() *lines {
	folder := os.Getenv(To)
	if folder == "" {
		return nil
	}
	here, err := os.Getwd() // the package under test
	if err != nil {
		panic(err)
	}
	name := filepath.Join(folder, filepath.Base(here)+".jsonl")
	to, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	return &lines{to: to, known: map[string]bool{}}
})

// lines is the file.
type lines struct {
	sync.Mutex
	to    *os.File
	known map[string]bool // what was written
}

// Add writes an entry, once.
func Add(e Entry) {
	f := file()
	if f == nil {
		return
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	f.Lock()
	defer f.Unlock()
	if f.known[string(line)] {
		return
	}
	f.known[string(line)] = true
	if _, err := f.to.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

// Calls stands before an upstream, and records the calls; ours: its answers too, because it is a fake that follows documents.
func Calls(upstream http.Handler, ours bool) http.Handler {
	if file() == nil {
		return upstream
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		e := Entry{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: string(body)}
		if !ours {
			Add(e)
			upstream.ServeHTTP(w, r)
			return
		}
		said := httptest.NewRecorder()
		upstream.ServeHTTP(said, r)
		e.Status, e.Answer = said.Code, said.Body.String()
		Add(e)
		for name, values := range said.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(said.Code)
		_, _ = w.Write(said.Body.Bytes()) // to a client that may be gone
	})
}
