package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// A PIX code is a sequence of EMV fields with a valid checksum, for the requested amount.
func FuzzBRCode(f *testing.F) {
	f.Add("01M7ZFUZZ-1", int64(5000))
	f.Add("", int64(1))
	f.Add("X\x00\xff-1", int64(99_999_999_99))
	f.Add("01M7ZFUZZ-1", int64(999_999_999_999_99))
	p := simulated()
	f.Fuzz(func(t *testing.T, reference string, minor int64) {
		if minor < 1 || minor > 1e15 {
			return // there is no charge for it
		}
		local := money.New(minor, money.BRL)
		o := p.Charge(context.Background(), provider.Request{Reference: reference, Amount: local, Local: local, Method: "pix", Created: noon, Now: noon})
		if o.Kind != pay.Awaiting {
			return // the cents of the amount request another result
		}
		code := o.Data.QRCode
		fields, err := emv(code)
		if err != nil {
			t.Fatalf("%q: %v", code, err)
		}
		if got, err := money.Parse(fields["54"], money.BRL); err != nil || got != local {
			t.Errorf("%q is of %v (%v), not %v", code, got, err, local)
		}
		if fields["00"] != "01" || fields["53"] != "986" || fields["58"] != "BR" || len(fields["59"]) > 25 || len(fields["60"]) > 15 || len(fields["54"]) > 13+3 {
			t.Errorf("%q: %v", code, fields)
		}
		for _, tag := range []string{"26", "62"} {
			if _, err := emv(fields[tag]); err != nil {
				t.Errorf("%q: field %s: %v", code, tag, err)
			}
		}
		if crc := fmt.Sprintf("%04X", checksum(code[:len(code)-4])); fields["63"] != crc {
			t.Errorf("%q ends in %s, want %s", code, fields["63"], crc)
		}
	})
}

// emv splits a text into fields: a tag of two digits, a length of two, and a value.
func emv(text string) (map[string]string, error) {
	fields := map[string]string{}
	for text != "" {
		if len(text) < 4 {
			return nil, errors.New("it ends within a field")
		}
		n, err := strconv.Atoi(text[2:4])
		if err != nil || n < 1 || len(text) < 4+n {
			return nil, fmt.Errorf("the field %q does not have its length", text)
		}
		if _, twice := fields[text[:2]]; twice {
			return nil, fmt.Errorf("the field %s exists twice", text[:2])
		}
		fields[text[:2]], text = text[4:4+n], text[4+n:]
	}
	return fields, nil
}

// checksum is CRC-16/CCITT-FALSE, computed differently from the code under test: by a remainder
// of bits.
func checksum(text string) (crc uint16) {
	crc = 0xFFFF
	for _, b := range []byte(text) {
		for bit := 7; bit >= 0; bit-- {
			high := crc>>15 != uint16(b>>bit&1)
			if crc <<= 1; high {
				crc ^= 0x1021
			}
		}
	}
	return crc
}

// Whatever the header is: a notification is read if it has the MAC of its body, otherwise
// not.
func FuzzForgedNotices(f *testing.F) {
	body := []byte(`{"id":"n","reference":"X-1","status":"paid","amount":"10","currency":"USD"}`)
	good := simulated().Signature(body)
	f.Add(good, body)
	f.Add(good, append([]byte(" "), body...))
	f.Add("", body)
	f.Add(good[:62], []byte{})
	p := simulated()
	f.Fuzz(func(t *testing.T, signature string, body []byte) {
		list, err := p.Notices(context.Background(), provider.Notification{Header: http.Header{sandbox.SignatureHeader: {signature}}, Body: body})
		if signed := signature == p.Signature(body); signed == errors.Is(err, provider.ErrUnsigned) || !signed && len(list) != 0 || err != nil && len(list) != 0 {
			t.Errorf("%q, signed %t: %+v, %v", body, signed, list, err)
		}
	})
}
