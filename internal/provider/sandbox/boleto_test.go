package sandbox

import (
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
)

// A boleto's line and barcode are of the form that banks read; FEBRABAN's factor of the due date began again at 1000.
func TestBoletoHasTheRealForm(t *testing.T) {
	for day, want := range map[string]string{"2000-07-03": "1000", "2025-02-21": "9999", "2025-02-22": "1000", "2026-11-29": "1645"} {
		noon, err := time.Parse(time.DateTime, day+" 15:00:00")
		if err != nil {
			t.Fatal(err)
		}
		if got := dueFactor(noon); got != want {
			t.Errorf("the factor of %s is %s, want %s", day, got, want)
		}
	}
	if late := time.Date(2025, 2, 22, 2, 59, 0, 0, time.UTC); dueFactor(late) != "9999" {
		t.Errorf("the last minute of 21 February in Brazil has the factor %s", dueFactor(late))
	}
	// A line that a bank printed: 23793.38128 60083.013528 56000.063307 7 89840000150000.
	for digits, want := range map[string]string{"237933812": "8", "6008301352": "8", "5600006330": "7"} {
		if got := modulo10(digits); got != want {
			t.Errorf("the check digit of %s is %s, want %s", digits, got, want)
		}
	}
	if got := modulo11("2379" + "89840000150000" + "3381260083013525600006330"); got != "7" {
		t.Errorf("the check digit of a bank's barcode is %s, want 7", got)
	}
	r := provider.Request{Method: "boleto", Local: money.New(150_000, "BRL"), Expires: time.Date(2026, 11, 29, 15, 0, 0, 0, time.UTC)}
	d := data(r)
	line, bars := d.Reference, d.Barcode
	if len(line) != 47 || len(bars) != 44 || strings.Trim(line+bars, "0123456789") != "" {
		t.Fatalf("the line has %d digits and the barcode %d: %s, %s", len(line), len(bars), line, bars)
	}
	if again := line[:4] + line[32:33] + line[33:] + line[4:9] + line[10:20] + line[21:31]; again != bars {
		t.Errorf("the line says %s, the barcode %s", again, bars)
	}
	if bars[5:19] != "16450000150000" {
		t.Errorf("the barcode's date and amount are %s", bars[5:19])
	}
	sum := 0
	for i, digit := range bars[:4] + bars[5:] {
		sum += int(digit-'0') * ((42-i)%8 + 2)
	}
	if check := 11 - sum%11; check < 10 && check != int(bars[4]-'0') || check > 9 && bars[4] != '1' {
		t.Errorf("the barcode's check digit is %c, want that of the sum %d", bars[4], sum)
	}
}

// Banks write a Pix code's amount with two decimals.
func TestPixCodeHasTwoDecimals(t *testing.T) {
	code := data(provider.Request{Method: "pix", Local: money.New(137_70, "BRL")}).QRCode
	if !strings.Contains(code, "5406137.70") {
		t.Errorf("the code is %s", code)
	}
}
