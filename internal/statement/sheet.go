package statement

import (
	"encoding/csv"
	"io"
	"strings"
)

// Sheet is what a CSV file is written for. A spreadsheet reads one as its computer is set: where decimals have a comma, as in
// Brazil, Argentina, Chile and Colombia, a file with commas between its columns opens in one column.
type Sheet string

// The sheets.
const (
	ForPrograms Sheet = ""      // RFC 4180: commas, points
	ForPoints   Sheet = "point" // the same with a byte order mark, as in Mexico, Peru and the United States
	ForCommas   Sheet = "comma" // a byte order mark, semicolons, decimal commas
)

// Writer writes rows for the sheet, behind the byte order mark without which Excel does not read UTF-8.
func (s Sheet) Writer(w io.Writer) (*csv.Writer, error) {
	out := csv.NewWriter(w)
	if s == ForPrograms {
		return out, nil
	}
	if s == ForCommas {
		out.Comma = ';'
	}
	_, err := io.WriteString(w, "\ufeff")
	return out, err
}

// Number writes a number, which has a decimal point, for the sheet.
func (s Sheet) Number(text string) string {
	if s == ForCommas {
		return strings.Replace(text, ".", ",", 1)
	}
	return text
}
