package checkout

import (
	"encoding/json"
	"net/http"
	"time"
)

// mistake is what was wrong with a choice. It is encrypted in the address of the page that
// shows it, so that a reload or going back posts nothing.
type mistake struct {
	Method string `json:"method"`
	Typed  string `json:"typed,omitempty"` // the number, as it was typed
	Kind   string `json:"kind"`
	At     int64  `json:"at"` // Unix seconds
}

// The kinds of mistakes.
const (
	noChoice      = "choose_one"
	wrongDocument = "document_wrong"
	oddDocument   = "document_odd"
	notPayable    = "not_now"
	notTaken      = "problem_bad_text"
	noneNow       = "no_methods"
)

// mistakeLife is how long the page of a mistake shows it.
const mistakeLife = time.Hour

// tellMistake redirects to the page that shows a mistake.
func (p *Pages) tellMistake(w http.ResponseWriter, r *http.Request, token string, m mistake) error {
	m.At = p.uses.Now().Unix()
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	pairs := []string{"was", p.uses.Sessions.EncryptTyped(token, text)}
	if country := r.URL.Query().Get("country"); country != "" {
		pairs = append(pairs, "country", country)
	}
	p.see(w, r, "/checkout/"+token, pairs...)
	return nil
}

// mistakeOf is the mistake in a page's address; false if there is none, or if it is not
// ours or too old.
func (p *Pages) mistakeOf(r *http.Request, token string) (m mistake, ok bool) {
	text, ok := p.uses.Sessions.OpenTyped(token, r.URL.Query().Get("was"))
	if !ok || json.Unmarshal(text, &m) != nil {
		return mistake{}, false
	}
	age := p.uses.Now().Sub(time.Unix(m.At, 0))
	return m, age < mistakeLife
}
