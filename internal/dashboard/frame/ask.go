package frame

import (
	"net/http"
	"time"
)

// Secret is the answer to a form that made a secret. It is shown once, so this is the answer to the POST itself.
type Secret struct {
	Title, Label, About string // keys of the room's texts
	Secret              string
	Back                string    // the page that follows, below the shop
	Until               time.Time // until when the secret before it works; zero: there was none
}

// ShowSecret writes the page of a secret.
func (pg *Pages) ShowSecret(w http.ResponseWriter, req *http.Request, v *Visit, s Secret) error {
	s.Title, s.Label, s.About = pg.Text(v, s.Title), pg.Text(v, s.Label), pg.Text(v, s.About)
	return pg.frame.own.Show(w, req, v, "secret", s)
}

// Question is a page that asks before something that cannot be undone.
type Question struct {
	Title, Text, Button string // keys of the room's texts
	What                string // what it is about
	Action, Back        string // below the shop
	Tone                string // of the button, "" for the usual one
}

// Ask writes the page of a question.
func (pg *Pages) Ask(w http.ResponseWriter, req *http.Request, v *Visit, q Question) error {
	q.Title, q.Text, q.Button = pg.Text(v, q.Title), pg.Text(v, q.Text), pg.Text(v, q.Button)
	return pg.frame.own.Show(w, req, v, "ask", q)
}
