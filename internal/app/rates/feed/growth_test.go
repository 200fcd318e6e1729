package feed_test

import (
	"testing"

	"github.com/cascadapay/cascada/internal/app/rates/feed"
	"github.com/cascadapay/cascada/internal/bench/growth"
)

// A sheet of rates costs no more than its size.
func TestSheetsCostNoMoreThanTheirSize(t *testing.T) {
	for name, input := range map[string]func(int) string{
		"one currency": growth.Repeated("", "BRL 5.4\n", ""), "other currencies": growth.Numbered("", "X%d 5.4\n", ""), "numbers": growth.Repeated("BRL ", "1", ""), "letters": growth.Repeated("", "x", ""),
		"JSON": growth.Numbered("{\"rates\":{", "\"X%d\":5.4,", "\"BRL\":5.4}}"), "deep JSON": growth.Repeated("", "{\"rates\":", ""), "XML": growth.Repeated("", "<Cube>", ""),
	} {
		growth.Of(t, name, 256<<10, input, func(text string) int {
			list, err := feed.ParseFile([]byte(text), "file", now)
			if err != nil {
				return len(err.Error())
			}
			published, refused, err := feed.ParsePublished([]byte(text), "feed", now)
			if err != nil {
				return len(err.Error())
			}
			return len(list) + len(published) + len(refused)
		})
	}
}
