package frame

import (
	"encoding/csv"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/statement"
	"github.com/cascadapay/cascada/internal/web"
)

const (
	// csvFlush is the number of rows after which they are sent.
	csvFlush = 500
	// csvPatience is how long a browser may take for as many rows.
	csvPatience = time.Minute
)

// CSV writes a file of any number of rows. Nothing is sent before the first row, so that an error
// until then is shown as a page. After it, an error that the handler returns cuts the file off: the browser sees that
// the file is not whole.
type CSV struct {
	w      http.ResponseWriter
	rows   *csv.Writer // nil before the first row
	sheet  statement.Sheet
	name   string
	header []string
	n      int
}

// mostFiles is how many files a node writes at a time. One user, or one merchant, may have half of what the
// others leave.
const mostFiles = 16

// NewCSV returns a file with a name, without its ending, and the heads of its columns. It counts as one of the user's and
// the merchant's until the request ends.
//
// Errors: rate_limited if too many are being written.
func (s *Site) NewCSV(w http.ResponseWriter, r *http.Request, v *Visit, name string, header ...string) (*CSV, error) {
	if err := s.enterFiles(w, v); err != nil {
		return nil, err
	}
	return newCSV(w, SheetOf(r), name, header), nil
}

// enterFiles counts a file as one of the user's and the merchant's until the request ends.
//
// Errors: rate_limited if too many are being written.
func (s *Site) enterFiles(w http.ResponseWriter, v *Visit) error {
	leave, ok := s.files.Enter("user "+v.User.ID, "merchant "+v.Merchant.ID)
	if !ok {
		w.Header().Set("Retry-After", retrySoon)
		return problem.New(problem.RateLimited, filesAtOnce)
	}
	v.places = append(v.places, leave)
	return nil
}

// NewArchive returns the writer of a ZIP archive with a name, without its ending. Like a CSV, it counts as one of the user's and the
// merchant's files, nothing is sent before the first byte, and an error after it cuts the file off.
//
// Errors: rate_limited if too many are being written.
func (s *Site) NewArchive(w http.ResponseWriter, v *Visit, name string) (io.Writer, error) {
	if err := s.enterFiles(w, v); err != nil {
		return nil, err
	}
	return &archive{w: w, name: name}, nil
}

// archive sends a ZIP archive.
type archive struct {
	w     http.ResponseWriter
	name  string
	begun bool
}

// Write implements io.Writer. The browser may take csvPatience for each piece.
func (a *archive) Write(p []byte) (int, error) {
	if !a.begun {
		h := a.w.Header()
		Secure(h)
		h.Set("Content-Type", "application/zip")
		h.Set("Content-Disposition", `attachment; filename="`+fileName(a.name)+`.zip"`)
		a.begun = true
	}
	web.Allow(a.w, csvPatience)
	return a.w.Write(p)
}

// mostReads is how many places there are for pages that read much, as in the admin API: one operator gets two, and the last place is never
// given (limit.Places).
const mostReads = 5

// ReadMuch takes one of the few places for what reads much (OPR-4). It is free again when the request ends.
//
// Errors: rate_limited.
func (s *Site) ReadMuch(w http.ResponseWriter, v *Visit) error {
	leave, ok := s.reads.Enter(v.User.ID)
	if !ok {
		w.Header().Set("Retry-After", retrySoon)
		return problem.New(problem.RateLimited, readsAtOnce)
	}
	v.places = append(v.places, leave)
	return nil
}

func newCSV(w http.ResponseWriter, sheet statement.Sheet, name string, header []string) *CSV {
	return &CSV{w: w, sheet: sheet, name: name, header: header}
}

// begin sends the headers and the heads of the columns.
func (c *CSV) begin() error {
	h := c.w.Header()
	Secure(h)
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+fileName(c.name)+`.csv"`)
	web.Allow(c.w, csvPatience)
	var err error
	if c.rows, err = c.sheet.Writer(c.w); err != nil {
		return err
	}
	var cells []any
	for _, head := range c.header {
		cells = append(cells, head)
	}
	return c.rows.Write(cellsOf(cells, c.sheet))
}

// Row writes a row: strings, numbers, amounts (without their currency), times and bools.
func (c *CSV) Row(cells ...any) error {
	if c.n == 0 {
		if err := c.begin(); err != nil {
			return err
		}
	}
	c.n++
	if err := c.rows.Write(cellsOf(cells, c.sheet)); err != nil {
		return err
	}
	if c.n%csvFlush > 0 {
		return nil
	}
	web.Allow(c.w, csvPatience)
	c.rows.Flush()
	_ = http.NewResponseController(c.w).Flush() // not every writer can
	return c.rows.Error()
}

// End writes what is left. A file without rows has the heads alone.
func (c *CSV) End() error {
	if c.n == 0 {
		if err := c.begin(); err != nil {
			return err
		}
	}
	c.rows.Flush()
	return c.rows.Error()
}

func cellsOf(values []any, sheet statement.Sheet) []string {
	list := make([]string, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case money.Amount:
			if v.Currency.Valid() {
				list[i] = sheet.Number(exact(v))
			}
		case time.Time:
			if !v.IsZero() {
				list[i] = v.UTC().Format(time.RFC3339)
			}
		case int, int64, bool:
			list[i] = fmt.Sprint(v)
		case nil:
		default:
			list[i] = sheet.Guard(fmt.Sprint(v))
		}
	}
	return list
}

// exact is an amount with all decimals of its currency, as programs read it.
func exact(a money.Amount) string {
	whole, rest, _ := strings.Cut(a.Decimal(), ".")
	places := a.Currency.Exponent()
	if places == 0 {
		return whole
	}
	return whole + "." + rest + strings.Repeat("0", places-len(rest))
}

// SheetOf is the spreadsheet that a visitor's file is for: as chosen, or as the visitor's language writes numbers.
func SheetOf(r *http.Request) statement.Sheet {
	if chosen := statement.Sheet(r.URL.Query().Get("decimal")); chosen == statement.ForPoints || chosen == statement.ForCommas {
		return chosen
	}
	return sheetOf(languageOf(r))
}

func sheetOf(lang string) statement.Sheet {
	if lang == "en" {
		return statement.ForPoints
	}
	return statement.ForCommas
}

// otherSheet is the address of a file for the spreadsheet that is not the visitor's own, and that spreadsheet.
func otherSheet(p *Page, href any) (other struct {
	URL   string
	Sheet statement.Sheet
}, err error) {
	u, err := url.Parse(fmt.Sprint(href))
	if err != nil {
		return other, err
	}
	other.Sheet = statement.ForPoints
	if sheetOf(p.lang) == statement.ForPoints {
		other.Sheet = statement.ForCommas
	}
	q := u.Query()
	q.Set("decimal", string(other.Sheet))
	u.RawQuery = q.Encode()
	other.URL = u.String()
	return other, nil
}

// fileName is a name that every system takes.
func fileName(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' {
			return c
		}
		return '-'
	}, name)
}

// Foreign serves a file that somebody handed in. Whatever it holds, it runs nothing and reads nothing of ours.
// shown lets the browser show it in a page of its own, and not only save it.
func Foreign(w http.ResponseWriter, name, media string, content []byte, shown bool) {
	how := "attachment"
	if shown {
		how = "inline"
	}
	h := w.Header()
	Secure(h)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-store")
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": name}))
	_, _ = w.Write(content) // the visitor may have left
}
