package frame

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
)

// flashCookie is the cookie of a message for the next page.
const (
	flashCookie  = "flash"
	flashSeconds = 60
	flashLimit   = 2048 // bytes
)

// flash is a message for the next page.
type flash struct {
	Key  string        `json:"k"`
	Args []string      `json:"a,omitempty"`
	Text template.HTML `json:"-"`
}

// Flash shows a message on the next page, once: {{T key args…}}. Call it before a redirect. Args are pairs
// of names and values; who shows the page escapes them.
func (f *Frame) Flash(w http.ResponseWriter, key string, args ...any) {
	m := flash{Key: key}
	for _, arg := range args {
		m.Args = append(m.Args, fmt.Sprint(arg))
	}
	text, err := json.Marshal(m)
	if err != nil || len(text) > flashLimit { // a message that is too long is not worth an error
		return
	}
	f.Keep(w, flashCookie, base64.RawURLEncoding.EncodeToString(text), flashSeconds, http.SameSiteLaxMode)
}

// Done shows a message on another page of the visit's shop.
func (f *Frame) Done(w http.ResponseWriter, r *http.Request, v *Visit, path, flash string) error {
	f.Flash(w, flash)
	f.Go(w, r, f.Root+v.Home()+"/"+path)
	return nil
}

// flash takes the message for this page, if there is one.
func (pg *Pages) flash(w http.ResponseWriter, req *http.Request) *flash {
	kept := pg.frame.ReadOnce(w, req, flashCookie, http.SameSiteLaxMode)
	if kept == "" || len(kept) > 2*flashLimit {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(kept)
	if err != nil {
		return nil
	}
	var m flash
	if json.Unmarshal(text, &m) != nil {
		return nil
	}
	return &m
}

// localize finds the sentence of a message: in the texts of the page's room, else of any room.
func (p *Page) localize(m *flash) *flash {
	if m == nil {
		return nil
	}
	sentence, known := p.room.text(p.lang, m.Key)
	for _, other := range p.room.frame.rooms { // the room that the visitor came from
		if known {
			break
		}
		sentence, known = other.text(p.lang, m.Key)
	}
	if !known { // not a message of ours
		return nil
	}
	var args []any
	for _, arg := range m.Args {
		args = append(args, arg)
	}
	m.Text = fill(p.lang, sentence, args)
	return m
}
