package apireference

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"

	"github.com/cascadapay/cascada/internal/web"
)

// Home is the data of the page at /.
type Home struct {
	Version string // the program's version
	API     string // the base address of every call
	Demo    bool   // /demo opens a checkout
}

// NewHome returns the page at /: what this service is, and where to go.
func NewHome(h Home) (http.Handler, error) {
	text, err := template.New("home.html").ParseFS(assets, "assets/home.html")
	if err != nil {
		return nil, fmt.Errorf("home page: %w", err)
	}
	var html bytes.Buffer
	if err := text.Execute(&html, h); err != nil {
		return nil, fmt.Errorf("home page: %w", err)
	}
	return guarded(web.NewFile("text/html; charset=utf-8", html.Bytes())), nil
}
