package bankfile

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"unicode"
	"unicode/utf8"
)

// readable reads a file, and fails where an answer is not what answers are.
func readable(t *testing.T, format Format, file []byte) {
	answers, err := Read(format, file)
	checkAnswers(t, answers, err)
	_, _ = Detect(file)
}

func checkAnswers(t *testing.T, answers []Answer, err error) {
	var fault *SyntaxError
	var wrong *Problem
	if err != nil {
		if answers != nil || !errors.As(err, &fault) && !errors.As(err, &wrong) {
			t.Fatalf("%d answers and %v", len(answers), err)
		}
		return
	}
	for _, a := range answers {
		final := a.Outcome == Rejected || a.Outcome == Returned
		switch {
		case a.Outcome != Paid && a.Outcome != Pending && !final,
			final != (a.Reason != ""),
			a.Notice != "" && a != Answer{Notice: a.Notice, Outcome: Pending, Line: a.Line},
			a.Whole && (a.Reference != "" || a.Outcome == Paid || a.Outcome == Returned),
			a.Amount.IsNegative(), a.Amount.Minor != 0 && !a.Amount.Currency.Valid(), a.Line < 1:
			t.Fatalf("%+v", a)
		}
		for _, text := range []string{a.Notice, a.Reference, a.Batch, a.BankReference, a.Code, a.Message, a.Text, a.Destination} {
			for _, r := range text {
				if unicode.IsControl(r) || r == utf8.RuneError {
					t.Fatalf("%q", text)
				}
			}
		}
	}
}

// A file that was cut off anywhere gives no answers at all.
func TestNoPartOfAFileIsRead(t *testing.T) {
	for name, format := range map[string]Format{
		"cnab_pix.ret": FormatCNAB240, "pain.002.03.xml": FormatPain002, "camt.054.02.xml": FormatCamt054, "camt.054.08.xml": FormatCamt054,
	} {
		file := golden(t, name)
		end := len(bytes.TrimRight(file, "\r\n"))
		for n := range end {
			if answers, err := Read(format, file[:n]); err == nil || answers != nil {
				t.Fatalf("%s: %d of %d bytes are read", name, n, end)
			}
		}
		if _, err := Read(format, file[:end]); err != nil {
			t.Errorf("%s without the last end of line: %v", name, err)
		}
	}
}

// FuzzEdits changes a good file in one place, which reaches further than noise.
func FuzzEdits(f *testing.F) {
	names := []string{"cnab_pix.ret", "pain.002.03.xml", "camt.054.02.xml", "camt.054.08.xml"}
	formats := []Format{FormatCNAB240, FormatPain002, FormatCamt054, FormatCamt054}
	f.Add(uint8(0), uint16(2*242+230), "PJ", false)
	f.Add(uint8(0), uint16(2*242+14), "333", false)
	f.Add(uint8(1), uint16(1000), "<a/>", true)
	f.Add(uint8(2), uint16(1500), "CRDT", false)
	f.Add(uint8(3), uint16(900), "", true)
	files := make([][]byte, len(names))
	for i, name := range names {
		files[i] = golden(f, name)
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint16, text string, insert bool) {
		i := int(which) % len(names)
		from := int(at) % len(files[i])
		to := min(from+len(text), len(files[i]))
		if insert {
			to = from
		}
		readable(t, formats[i], slices.Concat(files[i][:from], []byte(text), files[i][to:]))
	})
}
