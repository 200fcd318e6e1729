package claims

import (
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
)

// A file of evidence costs no more than its size.
func TestEvidenceCostsNoMoreThanItsSize(t *testing.T) {
	for _, text := range []string{"eHh4", "=", "\n", "e", "JVBERi0x"} {
		for _, kind := range []string{"text/plain", "application/pdf", "image/png"} {
			growth.Of(t, kind+" of "+text, 256<<10, growth.Repeated("", text, ""), func(content string) (told int) {
				file := EvidenceUpload{Name: "a.txt", ContentType: kind, Content: content}
				for _, issue := range file.check("file") {
					told += len(issue.Error())
				}
				return told
			})
		}
	}
}
