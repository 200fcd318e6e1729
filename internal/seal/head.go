package seal

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Head is the newest block of a chain. Kept outside the database, it proves later that the
// chain was not truncated and rebuilt.
type Head struct {
	Merchant string
	Live     bool
	N        int64
	Hash     string
}

// The parts of a head's text.
const (
	nobody     = "-" // the chain of rows without a merchant
	sandbox    = "sandbox"
	production = "production"
)

// Chain names a chain, for people.
func Chain(merchant string, live bool) string {
	environment := sandbox
	if live {
		environment = production
	}
	return cmp.Or(merchant, nobody) + " " + environment
}

// String is the head as one line: merchant, environment, number, hash.
func (h Head) String() string { return fmt.Sprintf("%s %d %s", Chain(h.Merchant, h.Live), h.N, h.Hash) }

// ParseChain reads the text of Chain.
func ParseChain(text string) (merchant string, live, ok bool) {
	merchant, environment, _ := strings.Cut(text, " ")
	if merchant == "" || environment != sandbox && environment != production {
		return "", false, false
	}
	if merchant == nobody {
		merchant = ""
	}
	return merchant, environment == production, true
}

// ParseHead reads the text of String.
func ParseHead(line string) (Head, error) {
	bad := fmt.Errorf("%q is not a head: want MERCHANT ENVIRONMENT NUMBER HASH, as cascada seal head prints it", line)
	words := strings.Fields(line)
	if len(words) != 4 || len(words[3]) != 64 {
		return Head{}, bad
	}
	merchant, live, ok := ParseChain(words[0] + " " + words[1])
	n, err := strconv.ParseInt(words[2], 10, 64)
	if !ok || err != nil || n < 1 {
		return Head{}, bad
	}
	return Head{merchant, live, n, words[3]}, nil
}
