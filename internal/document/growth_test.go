package document_test

import (
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
	"github.com/cascadapay/cascada/internal/document"
)

// A document's number costs no more than its size.
func TestDocumentsCostNoMoreThanTheirSize(t *testing.T) {
	for _, country := range []string{"BR", "MX", "CO", "CL", "AR", "PE", "UY"} {
		for _, text := range []string{"1", "a", ".", "-", " "} {
			growth.Of(t, country+" of "+text, 64<<10, growth.Repeated("", text, ""), func(text string) int {
				number, _ := document.Check(country, "", text)
				return len(number)
			})
		}
	}
}
