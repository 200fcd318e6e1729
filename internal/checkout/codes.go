package checkout

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/code128"
	"github.com/boombuler/barcode/twooffive"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"rsc.io/qr"
)

// quiet is the blank border that scanners require, in modules: four around a QR code (ISO
// 18004), ten beside a barcode (ISO 15417).
const (
	quietQR  = 4
	quietBar = 10
)

// qr draws the code that the shopper's app scans.
func (p *Pages) qr(w http.ResponseWriter, r *http.Request) error {
	shown, err := p.uses.Sessions.Shown(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if shown.Page.Data.QRCode == "" {
		return message.Refusal(problem.TransactionNotFound, "this payment has no QR code")
	}
	return drawQR(w, shown.Page.Data.QRCode)
}

// drawQR draws a text as a QR code.
func drawQR(w http.ResponseWriter, text string) error {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return fmt.Errorf("QR code of %d characters: %w", len(text), err)
	}
	var path strings.Builder
	for y := range code.Size {
		run := 0
		for x := range code.Size + 1 {
			if x < code.Size && code.Black(x, y) {
				run++
				continue
			}
			if run > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x-run+quietQR, y+quietQR, run, run)
			}
			run = 0
		}
	}
	side := code.Size + 2*quietQR
	drawing(w, side, side, 8, path.String())
	return nil
}

// barHeight is the height of a barcode, in widths of a module: tall enough for a hand
// scanner.
const barHeight = 45

// barcode draws the code that a till scans: interleaved 2 of 5 for the 44 digits of a
// boleto, Code 128 for everything else.
func (p *Pages) barcode(w http.ResponseWriter, r *http.Request) error {
	shown, err := p.uses.Sessions.Shown(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	digits := shown.Page.Data.Barcode
	if digits == "" {
		return message.Refusal(problem.TransactionNotFound, "this payment has no barcode")
	}
	var code barcode.Barcode
	if shown.Way.Method == "boleto" && len(digits) == 44 {
		code, err = twooffive.Encode(digits, true)
	} else {
		code, err = code128.Encode(digits)
	}
	if err != nil { // a provider's code may be too long for a barcode, or have letters that no barcode has: the page shows it as text
		p.uses.Quiet.WarnSometimes(r.Context(), "a barcode cannot be drawn", "", "payment", shown.ID, "error", err)
		return message.Refusal(problem.TransactionNotFound, "this payment has no barcode that can be drawn")
	}
	var path strings.Builder
	width, run := code.Bounds().Dx(), 0
	for x := range width + 1 {
		if x < width {
			if black, _, _, _ := code.At(x, 0).RGBA(); black == 0 {
				run++
				continue
			}
		}
		if run > 0 {
			fmt.Fprintf(&path, "M%d 0h%dv%dh-%dz", x-run+quietBar, run, barHeight, run)
		}
		run = 0
	}
	drawing(w, width+2*quietBar, barHeight, 2, path.String())
	return nil
}

// drawing writes black shapes on white, also in dark mode, because scanners need that. A
// module is scale pixels wide if there is room.
func drawing(w http.ResponseWriter, width, height, scale int, path string) {
	w.Header().Set("Content-Type", "image/svg+xml")
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[3]d" height="%[4]d" preserveAspectRatio="none" shape-rendering="crispEdges">`+
		`<rect width="%[1]d" height="%[2]d" fill="#fff"/><path d="%[5]s"/></svg>`, width, height, scale*width, scale*height, path)
}
