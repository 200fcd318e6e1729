package apireference

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
)

// Home is what the page at / says of a service.
type Home struct {
	Version string // of the program
	API     string // the address that every call starts with
	Demo    bool   // /demo opens a checkout
}

// NewHome returns the page at /: what this is, and where to go.
func NewHome(h Home) (http.Handler, error) {
	text, err := template.New("home.html").ParseFS(assets, "assets/home.html")
	if err != nil {
		return nil, fmt.Errorf("home page: %w", err)
	}
	var html bytes.Buffer
	if err := text.Execute(&html, h); err != nil {
		return nil, fmt.Errorf("home page: %w", err)
	}
	return newFile("text/html; charset=utf-8", html.Bytes()), nil
}
