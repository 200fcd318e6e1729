package file

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

// A file of settings costs no more than its size, and so does what is told of its mistakes.
func TestSettingsCostNoMoreThanTheirSize(t *testing.T) {
	for name, input := range map[string]func(int) string{
		"unknown names": growth.Numbered("", "liste%d: a\n", ""), "the same name": growth.Repeated("", "listen: a\n", ""), "lists": growth.Repeated("listen: [", "a, ", "b]"),
		"brackets": growth.Repeated("listen: ", "[", ""), "one text": growth.Repeated("listen: ", "x", ""), "dashes": growth.Repeated("", "- ", ""),
	} {
		growth.Of(t, name, 128<<10, input, func(text string) int {
			file, problems := Read(strings.NewReader(text), known)
			told := len(file.Settings)
			for _, p := range problems {
				told += len(p.Text)
			}
			return told
		})
	}
}
