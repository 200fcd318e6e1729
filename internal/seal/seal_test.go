package seal

import (
	"testing"
)

var key = []byte("01234567890123456789012345678901")

// rowOf hashes a row of texts; a name and a value in turn.
func rowOf(key []byte, table string, fields ...string) string {
	h := New(key)
	h.Row(table)
	for i := 0; i < len(fields); i += 2 {
		h.Text(fields[i], fields[i+1])
	}
	return h.RowSum()
}

// A seal that is made in another way tomorrow would call every row of today
// changed: these never change.
func TestSealsAreForLife(t *testing.T) {
	h := New(key)
	h.Row("transfers")
	h.Number("amount", -2550)
	h.Text("id", "tr_1-capture")
	h.Flag("live", true)
	row := h.RowSum()
	block := Block{Merchant: "mer_1", Live: true, N: 7, At: 1763726400000000, Previous: "ab", Rows: map[string]string{"tr_1-capture": row, "aud_1": "x"}}
	for name, c := range map[string]struct{ got, want string }{
		"row":   {row, "n9tQKFxb7xorvYNMq0_veg"},
		"mark":  {h.Mark("tr_1-capture", `{"mer_1 production":{"tr_1-capture":"x"}}`), "k_aRLBSC2WnGSmQTU0js8g"},
		"block": {h.Sum(block), "0340ceeede4688c34220abc256d913549a43a8fc6235ace8db8068cdda735238"},
	} {
		if c.got != c.want {
			t.Errorf("the hash of the %s is %s, was %s", name, c.got, c.want)
		}
	}
}

func TestAnyDifferenceGivesAnotherHash(t *testing.T) {
	seen := map[string]string{}
	differ := func(what, hash string) {
		t.Helper()
		if before, known := seen[hash]; known {
			t.Errorf("%s has the hash of %s", what, before)
		}
		seen[hash] = what
	}
	differ("a row", rowOf(key, "t", "a", "bc"))
	differ("another table's", rowOf(key, "ta", "a", "bc"))
	differ("a letter moved to the name", rowOf(key, "t", "ab", "c"))
	differ("two fields", rowOf(key, "t", "a", "b", "c", "d"))
	differ("two fields, cut elsewhere", rowOf(key, "t", "a", "bt", "cd", "d"))
	differ("no field", rowOf(key, "t"))
	differ("another key", rowOf([]byte("another"), "t", "a", "bc"))
	h := New(key)
	h.Row("t")
	h.Number("a", 1)
	differ("a number", h.RowSum())
	h.Row("t")
	h.Flag("a", true)
	differ("a flag", h.RowSum())
	differ("a mark", h.Mark("t", "abc"))

	whole := Block{Merchant: "m", N: 1, At: 2, Previous: "p", Rows: map[string]string{"a": "1", "b": "2"}}
	differ("a block", h.Sum(whole))
	for what, change := range map[string]func(*Block){
		"merchant":    func(b *Block) { b.Merchant = "n" },
		"environment": func(b *Block) { b.Live = true },
		"number":      func(b *Block) { b.N = 2 },
		"time":        func(b *Block) { b.At = 3 },
		"previous":    func(b *Block) { b.Previous = "q" },
		"a row less":  func(b *Block) { b.Rows = map[string]string{"a": "1"} },
		"swapped":     func(b *Block) { b.Rows = map[string]string{"a": "2", "b": "1"} },
		"no row":      func(b *Block) { b.Rows = nil },
	} {
		b := whole
		change(&b)
		differ("a block with another "+what, h.Sum(b))
	}
}

// A column that is added to a table is ” or 0 in the rows that are there.
func TestNewColumnLeavesTheHashesOfOldRows(t *testing.T) {
	if rowOf(key, "t", "a", "b") != rowOf(key, "t", "a", "b", "new", "") {
		t.Error("a field that is empty changes a row's hash")
	}
}

func TestHeadsAreReadAsTheyAreWritten(t *testing.T) {
	head := Head{"mer_1", true, 12, New(key).Sum(Block{N: 12})}
	for _, merchant := range []string{"mer_1", ""} {
		head.Merchant = merchant
		if got, err := ParseHead(head.String()); err != nil || got != head {
			t.Errorf("ParseHead(%s) = %v, %v", head, got, err)
		}
	}
	for _, line := range []string{"", "mer_1", "mer_1 production 12 ab", "mer_1 here 12 " + head.Hash, "mer_1 sandbox -1 " + head.Hash, "mer_1 sandbox 0 " + head.Hash,
		head.String() + " more"} {
		if _, err := ParseHead(line); err == nil {
			t.Errorf("%q is read as a head", line)
		}
	}
}
