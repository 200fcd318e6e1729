package packed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
	"github.com/klauspost/compress/s2"
)

const (
	of, merchant, shop = "01M8MM4Z8N5ZF66HACSMVC8SAA", "mer_01M8MM4Z1MMB9RCYS3TQNBP5QG", "shp_01M8MM4Z1MMB9SHMTS6EEP2MY9"
	// typical is the payload of a card payment in production, from another host and month than the dictionary's.
	typical = `{"id":"evt_01M8MM4Z8N5ZF66HACSMVC8SAA-1","type":"payment.completed","apiVersion":"2026-11-21","createdAt":"2027-03-14T09:42:32.982Z","environment":"production","merchantId":"mer_01M8MM4Z1MMB9RCYS3TQNBP5QG","shopId":"shp_01M8MM4Z1MMB9SHMTS6EEP2MY9","sequence":1,"request":{"id":"req_01M8MM4Z8NK2A92811BT88QWXE","idempotencyKey":"cart-88214"},"data":{"object":{"id":"TXN-01M8MM4Z8N5ZF66HACSMVC8SAA","status":"completed","amount":31.74,"currency":"USD","amountLocal":31.74,"currencyLocal":"USD","paymentMethodId":"card_us","paymentMethod":"card","country":"USA","fees":{"platform":0.38,"provider":1.22,"network":0,"total":1.60},"settlement":{"type":"delayed","delay":"48h","status":"pending"},"paymentData":{"type":"redirect"},"refundedAmountLocal":0,"refundableAmountLocal":31.74,"failure":null,"installments":null,"attention":null,"timestamps":{"created":"2027-03-14T09:42:32.981Z","updated":"2027-03-14T09:42:32.982Z","completed":"2027-03-14T09:42:32.982Z"},"merchantOrderId":"88214","fxRate":1,"paymentFormUrl":"https://checkout.shop.example/pay/TXN-01M8MM4Z8N5ZF66HACSMVC8SAA","expiresAt":"2027-03-14T10:12:32.981Z"},"previous":{"status":"processing"}}}`
)

// Never change a line here: it is what databases have. A new dictionary adds one, with its SHA-256 and typical as Pack stored it
// with that dictionary.
var kept = []struct{ sum, stored string }{
	{
		"5025c53809a9e5259a4eac186525148d549fba0c150049cff363c843cff1784a",
		"014023b1b8fe071500052a3d081e940f22ba08ae63044c372d30332d31345430393a34323a33322e39383215000aee030b1500037c227265715f30314d384d4d" +
			"345a384e4b324139323831314254383851575845224682042c22636172742d383832313422668a041e170e3536320b01286d6f756e74223a33312e372ad71735" +
			"bd32e6013a25007ee70120636172645f7573222c31852ac00f52fd0152c00f00382ec00f0c312e323215000f043630eec10f15001682881466360f2d34223a0f" +
			"ee86141500024a990200319d4c622500003232c50b6e2700007d4a8c030022496b2af40e35db46f00e1e9e36002e2e61366ea81011d40c31303a3119d462fb03" +
			"0e3b0c1100007d",
	},
}

// A dictionary is for ever: what was stored with it is read as it was.
func TestDictionariesStay(t *testing.T) {
	files := [][]byte{dictionary1}
	if len(dictionaries) != len(kept) || len(files) != len(kept) || newest != len(kept) {
		t.Fatalf("there are %d dictionaries, %d files of them and %d that are kept", len(dictionaries), len(files), len(kept))
	}
	for i, k := range kept {
		if sum := sha256.Sum256(files[i]); hex.EncodeToString(sum[:]) != k.sum {
			t.Errorf("dictionary %d is another one: %x. Nobody can read what was stored with it: add one with the next number instead", i+1, sum)
		}
		stored, err := hex.DecodeString(k.stored)
		if err != nil {
			t.Fatal(err)
		}
		if object, err := Unpack(stored, of, merchant, shop); err != nil || string(object) != typical {
			t.Errorf("what was stored with dictionary %d is read as %q, %v", i+1, object, err)
		}
	}
	if len(typical)/len(Pack([]byte(typical), of, merchant, shop)) < 4 {
		t.Errorf("%d bytes are stored as %d, %x", len(typical), len(Pack([]byte(typical), of, merchant, shop)), Pack([]byte(typical), of, merchant, shop))
	}
}

// Whatever is packed is unpacked as it was, whether it is compressed or not.
func TestWhatIsPackedIsUnpacked(t *testing.T) {
	long := `{"a":"` + strings.Repeat("payment.completed", Most/16) + `"}`
	for name, c := range map[string]struct {
		object string
		known  []string
		plain  bool
	}{
		"nothing":                      {"", nil, true},
		"an empty object":              {"{}", nil, true},
		"a payload":                    {typical, []string{of, merchant, shop}, false},
		"one of an unknown shop":       {typical, []string{"", "", ""}, false},
		"one with known texts unknown": {typical, nil, false},
		"a text within another":        {typical, []string{of, of[:10], "0"}, false},
		"nothing but a known text":     {`{"` + strings.Repeat(of, 20) + `"}`, []string{of}, false},
		"bytes that JSON does not have": {`{"a":"` + strings.Repeat("\x01\x02\x03 payment.completed", 50) + `"}`,
			[]string{of, merchant, shop}, true},
		"as much as is compressed":   {long[:Most-2] + `"}`, nil, false},
		"more than is compressed":    {long, nil, true},
		"nothing that repeats":       {`{"` + random(300) + `"}`, nil, true},
		"unicode":                    {`{"name":"Ana María Ñandú 😀","status":"completed","currency":"USD"}`, nil, false},
		"no object, but compressed":  {strings.Repeat(typical, 3)[1:], []string{of, merchant}, false},
		"known texts of one byte":    {typical, []string{`"`, `:`, `,`}, false},
		"the same known text twice":  {typical, []string{merchant, merchant, shop}, false},
		"a known text that overlaps": {`{"a":"` + strings.Repeat("a", 99) + `"}`, []string{"aa", "aaa"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			stored := Pack([]byte(c.object), c.known...)
			if plain := string(stored) == c.object; plain != c.plain {
				t.Errorf("stored as it is: %t, want %t", plain, c.plain)
			}
			if again, err := Unpack(stored, c.known...); err != nil || string(again) != c.object {
				t.Errorf("read again it is %.200q, %v", again, err)
			}
		})
	}
}

// random is text of which no four characters repeat, or few.
func random(size int) string {
	var b []byte
	for sum := sha256.Sum256(nil); len(b) < size; sum = sha256.Sum256(sum[:]) {
		b = append(b, hex.EncodeToString(sum[:])...)
	}
	return string(b[:size])
}

// Bytes that somebody changed or cut, and those of another row, are not read as an object.
func TestDamageIsSeen(t *testing.T) {
	stored := Pack([]byte(typical), of, merchant, shop)
	refuse := func(what string, stored []byte, known ...string) {
		t.Helper()
		if object, err := Unpack(stored, known...); !errors.Is(err, ErrDamaged) || object != nil {
			t.Errorf("%s: %.100q, %v", what, object, err)
		}
	}
	for i := range stored {
		for bit := range 8 {
			changed := bytes.Clone(stored)
			changed[i] ^= 1 << bit
			refuse("a changed bit", changed, of, merchant, shop)
		}
		if i > 0 {
			refuse("a cut", stored[:i], of, merchant, shop)
		}
	}
	refuse("with more behind it", append(bytes.Clone(stored), stored...), of, merchant, shop)
	refuse("of another object", stored, "01M8MM4Z8N5ZF66HACSMVC8SAB", merchant, shop)
	refuse("of another shop", stored, of, merchant, "shp_01M8MM4Z1MMB9SHMTS6EEP2MYA")
	refuse("without known texts", stored)
	refuse("of a later version", append([]byte{newest + 1}, stored[1:]...), of, merchant, shop)
	refuse("encrypted", append([]byte{0x80}, stored...), of, merchant, shop)
}

// A row of few bytes makes no object of many.
func TestNoRowIsABomb(t *testing.T) {
	refuse := func(what string, block []byte, known ...string) {
		t.Helper()
		object, err := Unpack(append([]byte{newest, 0, 0, 0, 0}, block...), known...)
		if !errors.Is(err, ErrDamaged) || object != nil || len(err.Error()) > 200 {
			t.Errorf("%s: %.100q, %v", what, object, err)
		}
	}
	zeros := s2.Encode(nil, make([]byte, 64<<20))
	if len(zeros) > 64<<10 {
		t.Fatalf("64 MB are %d bytes", len(zeros))
	}
	refuse("a block that is large", zeros)
	refuse("a block that says so", []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0})
	refuse("a size that is no number", bytes.Repeat([]byte{0xff}, 20))
	refuse("known texts again and again", s2.Encode(nil, bytes.Repeat([]byte{1}, Most)), strings.Repeat("x", 1<<10))
}

// What is read costs no more than its size, and is the same when it is stored again.
func FuzzUnpack(f *testing.F) {
	f.Add(Pack([]byte(typical), of, merchant, shop))
	f.Add(Pack([]byte(typical)))
	f.Add([]byte("{}"))
	f.Add([]byte{newest, 0, 0, 0, 0, 0})
	f.Add(append([]byte{newest, 0, 0, 0, 0}, s2.Encode(nil, bytes.Repeat([]byte{1, 2, 3}, 999))...))
	f.Fuzz(func(t *testing.T, stored []byte) {
		object, err := Unpack(stored, of, merchant, shop)
		if err != nil {
			if !errors.Is(err, ErrDamaged) || object != nil {
				t.Fatalf("%q, %v", object, err)
			}
			return
		}
		if len(object) > max(Most, len(stored)) {
			t.Fatalf("%d bytes of %d", len(object), len(stored))
		}
		if again, err := Unpack(Pack(object, of, merchant, shop), of, merchant, shop); len(object) > 0 && object[0] == '{' && (err != nil || !bytes.Equal(again, object)) {
			t.Fatalf("%q is read as %q, %v", object, again, err)
		}
	})
}

// An object is stored and read as it was, whatever it has, and whatever is known of it.
func FuzzPack(f *testing.F) {
	f.Add(typical, of, merchant)
	f.Add(typical, "", "a")
	f.Add("{\x01\x02}", "x", "yy")
	f.Fuzz(func(t *testing.T, text, one, two string) {
		object := "{" + text
		if again, err := Unpack(Pack([]byte(object), one, two), one, two); err != nil || string(again) != object {
			t.Fatalf("%q is read as %q, %v", object, again, err)
		}
	})
}

func TestReadingCostsNoMoreThanItsSize(t *testing.T) {
	known := strings.Repeat("x", 30)
	for name, object := range map[string]func(int) string{
		"payloads":    growth.Repeated("{", typical, "}"),
		"known texts": growth.Repeated("{", known, "}"),
		"zeros":       growth.Repeated("{", "0", "}"),
	} {
		growth.Of(t, name, Most/2, object, func(text string) int {
			read, err := Unpack(Pack([]byte(text), known), known)
			if err != nil {
				t.Error(err)
			}
			return len(read)
		})
	}
}

func BenchmarkPack(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Pack([]byte(typical), of, merchant, shop)
	}
	b.ReportMetric(float64(len(Pack([]byte(typical), of, merchant, shop))), "stored")
}

func BenchmarkUnpack(b *testing.B) {
	stored := Pack([]byte(typical), of, merchant, shop)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Unpack(stored, of, merchant, shop); err != nil {
			b.Fatal(err)
		}
	}
}
