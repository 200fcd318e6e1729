package frame

import (
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed own
var ownFiles embed.FS

// Config configures a Frame.
type Config struct {
	Log     *slog.Logger
	Now     func() time.Time // the clock; ages such as "5 minutes ago" are computed by it
	Root    string           // path prefix of the public URL, usually ""
	Docs    string           // where the docs are, such as "/docs"
	Version string           // of the program
	Items   []Item           // the navigation of a shop's pages; nil: Items()
	Console []Item           // the navigation of the operator's console; nil: ConsoleItems()
}

// Frame makes the pages of all rooms.
type Frame struct {
	Config
	texts   map[string]texts   // the frame's own, by language
	parsed  func() error       // reads base, parts and known once, when the first page is shown
	base    *template.Template // layouts and parts; it is cloned for each page, and never executed
	parts   *template.Template // the same, for what the function part writes
	known   map[string]map[string]bool
	assets  map[string]*asset
	build   string // changes with any asset: a page of another build is loaded whole
	own     *Pages // the frame's own pages
	rooms   []*Pages
	shown   *lru.Cache[pageKey, *page] // the pages that were shown last
	secure  bool                       // the public URL is https; NewSite sets it
	items   []item
	console []item
}

// New returns a frame.
func New(c Config) (*Frame, error) {
	if c.Log == nil || c.Now == nil {
		return nil, errors.New("dashboard: a frame needs a log and a clock")
	}
	c.Root = strings.TrimSuffix(c.Root, "/")
	f := &Frame{Config: c}
	var err error
	if f.shown, err = lru.New[pageKey, *page](mostShown); err != nil {
		return nil, err
	}
	if f.texts, err = textsOf(textFiles); err != nil {
		return nil, err
	}
	own, err := readAssets()
	if err != nil {
		return nil, err
	}
	f.assets, f.build = own.files, own.build
	f.parsed = sync.OnceValue(f.parse)
	if c.Items == nil {
		c.Items = Items()
	}
	if c.Console == nil {
		c.Console = ConsoleItems()
	}
	if f.items, err = f.label(c.Items, f.text); err != nil {
		return nil, err
	}
	if f.console, err = f.label(c.Console, f.text); err != nil {
		return nil, err
	}
	files, err := fs.Sub(ownFiles, "own")
	if err != nil {
		return nil, err
	}
	f.own, err = f.NewPages(files)
	return f, err
}
