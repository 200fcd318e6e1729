package bankfile

import (
	"os"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

// A bank's file costs no more than its size, whatever is in it.
func TestAnswersCostNoMoreThanTheirSize(t *testing.T) {
	const size = 128 << 10
	read := func(format Format) func(string) int {
		return func(text string) int {
			answers, err := Read(format, []byte(text))
			if err != nil {
				return len(err.Error())
			}
			return len(answers)
		}
	}
	for _, format := range []Format{FormatCNAB240, FormatPain002, FormatCamt054, FormatCSV} {
		for _, text := range []string{"x", "\n", ",", ";", "\"", "<a>", "<a b=\"c\">", "<a/>", "&amp;", "1", strings.Repeat("0", 240) + "\n", "reference,status\n"} {
			growth.Of(t, string(format)+" of "+text[:min(len(text), 20)], size, growth.Repeated("", text, ""), read(format))
		}
	}
	for file, format := range map[string]Format{"cnab_pix.ret": FormatCNAB240, "pain.002.03.xml": FormatPain002, "camt.054.08.xml": FormatCamt054, "table.csv": FormatCSV} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		growth.Of(t, file, size, repeatedPart(string(text)), read(format))
		growth.Of(t, file+" by its columns", size, repeatedPart(string(text)), func(text string) int {
			_, err := Detect([]byte(text))
			if err != nil {
				return len(err.Error())
			}
			return 0
		})
	}
	growth.Of(t, "columns", 64<<10, growth.Repeated("", "reference,", ""), func(text string) int {
		columns, err := ParseColumns(text, usual)
		if err != nil {
			return len(err.Error())
		}
		return len(columns)
	})
}

// repeatedPart repeats the middle of a file: entries of XML, or lines.
func repeatedPart(text string) func(size int) string {
	for _, tag := range []string{"TxInfAndSts", "NtryDtls", "Ntry"} {
		begin, end := strings.Index(text, "<"+tag+">"), strings.LastIndex(text, "</"+tag+">")
		if begin >= 0 && end > begin {
			end += len("</" + tag + ">")
			return growth.Repeated(text[:begin], text[begin:end], text[end:])
		}
	}
	lines := strings.SplitAfter(text, "\n")
	n := len(lines) / 2
	return growth.Repeated(strings.Join(lines[:n], ""), lines[n], strings.Join(lines[n+1:], ""))
}
