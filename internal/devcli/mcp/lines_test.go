package mcp

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

const question = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// passed are the messages and the answers that come of a text.
func passed(text string) (messages, answers string) {
	var m, a bytes.Buffer
	_ = pass(bufio.NewReaderSize(strings.NewReader(text), 16), &m, &a) // a reader of a text never fails
	return m.String(), a.String()
}

// Lines that are no messages are answered, and those after them are read.
func TestGarbageIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		garbage string
		answers int
	}{
		"words":       {"hello", 1},
		"an object":   {`{"a":1}`, 1},
		"a list":      {"[" + question + "]", 1},
		"half":        {`{"jsonrpc":"2.0",`, 1},
		"two in one":  {question + question, 1},
		"bytes":       {"\xff\xfe\x00", 1},
		"empty lines": {"\n\r\n  ", 0},
		"a long line": {strings.Repeat("x", maxLine+1), 1},
		"nested":      {strings.Repeat("[", 100_000), 1},
	} {
		messages, answers := passed(c.garbage + "\n" + question + "\n")
		if messages != question+"\n" || strings.Count(answers, "\n") != c.answers || strings.Count(answers, `"error"`) != c.answers {
			t.Errorf("%s: passed %q, answered %q", name, messages, answers)
		}
	}
	if messages, _ := passed(question); messages != question+"\n" {
		t.Errorf("the last line without an end is %q", messages)
	}
}

// Whatever comes in, each line that is passed on is one message, and each answer is a line.
func FuzzLines(f *testing.F) {
	for _, s := range []string{question, "x\n" + question, "[]", "{}\r\n", `{"jsonrpc":"2.0","id":"a","result":null}`, strings.Repeat("[", 50)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		messages, answers := passed(text)
		if strings.Count(messages, "\n")+strings.Count(answers, "\n") > strings.Count(text, "\n")+1 {
			t.Errorf("%q becomes %q and %q", text, messages, answers)
		}
	})
}

// Lines cost no more than their size.
func TestLinesCostNoMoreThanTheirSize(t *testing.T) {
	for _, unit := range []string{"x", "x\n", "[", question + "\n", `"`} {
		growth.Of(t, "lines of "+unit, 64<<10, growth.Repeated("", unit, ""), func(text string) int {
			if err := pass(bufio.NewReader(strings.NewReader(text)), io.Discard, io.Discard); err != nil {
				t.Fatal(err)
			}
			return len(text)
		})
	}
}
