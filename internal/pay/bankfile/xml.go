package bankfile

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"

	"golang.org/x/text/encoding/charmap"

	"github.com/cascadapay/cascada/internal/money"
)

const (
	// elements is how many elements an XML file may have: thirty times what a large
	// batch needs.
	elements = 1_000_000
	// depth is how deep they may be nested.
	depth = 40
	// pieces is the longest text, in bytes, that comments may split.
	pieces = 4096
)

// node is an element by its local name: banks' national variants of a message use other
// namespaces but the same elements.
type node struct {
	name, space string
	currency    string // the attribute Ccy, of amounts
	text        string
	line        int
	children    []*node
}

// parseXML reads a whole document. It accepts no document type, and so only XML's own
// entities.
func parseXML(file []byte) (*node, error) {
	d := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(file, []byte("\ufeff"))))
	d.CharsetReader = charset
	root, open, count := (*node)(nil), []*node(nil), 0
	for {
		token, err := d.Token()
		line, _ := d.InputPos()
		var syntax *xml.SyntaxError
		switch {
		case errors.Is(err, io.EOF) && root != nil:
			return root, nil
		case errors.Is(err, io.EOF):
			return nil, syntaxError(0, "has no element")
		case errors.As(err, &syntax):
			return nil, syntaxError(syntax.Line, "the XML is broken: %s", shortText(syntax.Msg, 200))
		case err != nil:
			return nil, syntaxError(line, "the XML cannot be read: %s", shortText(err.Error(), 200))
		}
		switch t := token.(type) {
		case xml.Directive:
			return nil, syntaxError(line, "a document type is not accepted")
		case xml.StartElement:
			count++
			n := &node{name: strings.Clone(t.Name.Local), space: t.Name.Space, line: line}
			for _, a := range t.Attr {
				if a.Name.Local == "Ccy" {
					n.currency = a.Value
				}
			}
			switch {
			case count > elements:
				return nil, syntaxError(line, "there are more than %d elements", elements)
			case len(open) >= depth:
				return nil, syntaxError(line, "the elements are nested more than %d deep", depth)
			case len(open) > 0:
				open[len(open)-1].children = append(open[len(open)-1].children, n)
			case root != nil:
				return nil, syntaxError(line, "there is a second root element")
			default:
				root = n
			}
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			text := strings.TrimSpace(string(t))
			if text == "" {
				continue
			}
			if len(open) == 0 {
				return nil, syntaxError(line, "there is text outside of the root element")
			}
			n := open[len(open)-1]
			if n.text != "" && len(n.text)+len(text) > pieces { // joining them would take long
				return nil, syntaxError(line, "the text of %s is long and in pieces", shortText(n.name, 40))
			}
			n.text += text
		}
	}
}

func charset(name string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(name) {
	case "utf-8", "us-ascii":
		return in, nil
	case "iso-8859-1":
		return charmap.ISO8859_1.NewDecoder().Reader(in), nil
	case "windows-1252":
		return charmap.Windows1252.NewDecoder().Reader(in), nil
	}
	return nil, errors.New("the encoding is not UTF-8, ISO-8859-1 or windows-1252")
}

// all lists the elements at a path: "OrgnlPmtInfAndSts/TxInfAndSts".
func (n *node) all(path string) (found []*node) {
	name, rest, deeper := strings.Cut(path, "/")
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		switch {
		case c.name != name:
		case deeper:
			found = append(found, c.all(rest)...)
		default:
			found = append(found, c)
		}
	}
	return found
}

// one is the first element at a path, or nil.
func (n *node) one(path string) *node {
	if found := n.all(path); len(found) > 0 {
		return found[0]
	}
	return nil
}

// value is the text of the first element at one of several paths.
func (n *node) value(paths ...string) string {
	for _, path := range paths {
		if c := n.one(path); c != nil && c.text != "" {
			return c.text
		}
	}
	return ""
}

// unique fails if an element occurs twice that decides the meaning of a file.
func (n *node) unique(names ...string) error {
	for _, name := range names {
		if found := n.all(name); len(found) > 1 {
			return syntaxError(found[1].line, "%s occurs twice in one %s", name, n.name)
		}
	}
	return nil
}

// decimals is an amount of ISO 20022: up to 18 digits, no sign.
var decimals = regexp.MustCompile(`^[0-9]{1,15}(?:\.[0-9]{0,5})?$`)

// amount reads an element with a currency. A nil element is no amount.
func (n *node) amount() (money.Amount, error) {
	if n == nil {
		return money.Amount{}, nil
	}
	currency, err := money.ParseCurrency(n.currency)
	if err != nil {
		return money.Amount{}, syntaxError(n.line, "the currency of %s is not valid", n.name)
	}
	return n.in(currency)
}

// in reads a number as an amount of a currency.
func (n *node) in(currency money.Currency) (money.Amount, error) {
	text := strings.TrimSuffix(strings.TrimLeft(n.text, "0"), ".")
	if text == "" || text[0] == '.' {
		text = "0" + text
	}
	if !decimals.MatchString(n.text) {
		return money.Amount{}, syntaxError(n.line, "%s is not an amount", n.name)
	}
	a, err := money.Parse(text, currency)
	if err != nil || a.Minor > largest {
		return money.Amount{}, syntaxError(n.line, "%s does not fit %s", n.name, currency)
	}
	return a, nil
}
