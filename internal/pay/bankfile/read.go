package bankfile

import (
	"bytes"
	"fmt"
)

// Format is the format of an answer.
type Format string

// Formats of answers.
const (
	FormatCNAB240 Format = "cnab240"
	FormatPain002 Format = "pain.002"
	FormatCamt054 Format = "camt.054"
	FormatCSV     Format = "csv"
)

// Reader reads banks' answers. The zero value knows what the standards say.
type Reader struct {
	// ACSC is the outcome of a payment that the bank has debited: Paid if the bank's guide says that
	// this is its last word, or else Pending ("").
	ACSC Outcome
}

// Read is Reader.Read by the standards alone.
func Read(format Format, file []byte) ([]Answer, error) { return Reader{}.Read(format, file) }

// Read reads a bank's answer, whole or not at all. A CSV has the usual columns and words;
// CSV.Read reads others.
//
// Errors: an unknown format, and a *SyntaxError that says where and why the file cannot be
// read.
func (rd Reader) Read(format Format, file []byte) ([]Answer, error) {
	switch {
	case len(file) > MaxSize:
		return nil, syntaxError(0, "is larger than %d MiB", MaxSize>>20)
	case format == FormatCNAB240:
		return readCNAB(file)
	case format == FormatPain002, format == FormatCamt054:
		return rd.readISO(format, file)
	case format == FormatCSV:
		return CSV{}.Read(file)
	}
	return nil, fmt.Errorf("answers in the format %q are not read: want %s, %s, %s or %s", format,
		FormatCNAB240, FormatPain002, FormatCamt054, FormatCSV)
}

// Detect detects the format of an answer: CNAB 240 or one of ISO 20022. It does not prove
// that the file can be read, and never returns CSV, whose columns the operator has to name.
//
// Errors: a *SyntaxError if it is neither.
func Detect(file []byte) (Format, error) {
	if len(file) > MaxSize {
		return "", syntaxError(0, "is larger than %d MiB", MaxSize>>20)
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(file, []byte("\ufeff")))
	if bytes.HasPrefix(text, []byte("<")) {
		return detectISO(file)
	}
	first, _, _ := bytes.Cut(file, []byte("\n"))
	first = bytes.TrimSuffix(first, []byte("\r"))
	if len(first) == cnabSize && digits(string(first[:8])) && first[7] == '0' {
		return FormatCNAB240, nil
	}
	return "", syntaxError(0, "is neither CNAB 240 nor XML: if it is a table, read it as %s", FormatCSV)
}
