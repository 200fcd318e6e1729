package checkout

import (
	"html/template"

	"github.com/cascadapay/cascada/internal/pay/accounts"
)

// flags are the flags of the countries that have methods, in plain form: at this size a
// coat of arms is invisible, and a real one is larger than a page.
var flags = map[string]template.HTML{
	"ARG": stripes("#74acdf", "#fff", "#74acdf", `<circle cx="12" cy="8" r="2" fill="#f6b40e"/>`),
	"BOL": stripes("#d52b1e", "#f9e300", "#007934", ""),
	"BRA": flag(`<path fill="#009739" d="M0 0h24v16H0z"/><path fill="#fedd00" d="M12 2l9 6-9 6-9-6z"/><circle cx="12" cy="8" r="3.4" fill="#012169"/>`),
	"CHL": flag(`<path fill="#fff" d="M0 0h24v8H0z"/><path fill="#d52b1e" d="M0 8h24v8H0z"/><path fill="#0039a6" d="M0 0h8v8H0z"/><circle cx="4" cy="4" r="1.6" fill="#fff"/>`),
	"COL": flag(`<path fill="#fcd116" d="M0 0h24v8H0z"/><path fill="#003893" d="M0 8h24v4H0z"/><path fill="#ce1126" d="M0 12h24v4H0z"/>`),
	"CRI": flag(`<path fill="#002b7f" d="M0 0h24v16H0z"/><path fill="#fff" d="M0 2.7h24v10.6H0z"/><path fill="#ce1126" d="M0 5.3h24v5.4H0z"/>`),
	"DOM": flag(`<path fill="#fff" d="M0 0h24v16H0z"/><path fill="#002d62" d="M0 0h10v6H0zM14 10h10v6H14z"/><path fill="#ce1126" d="M14 0h10v6H14zM0 10h10v6H0z"/>`),
	"ECU": flag(`<path fill="#ffd100" d="M0 0h24v8H0z"/><path fill="#0072ce" d="M0 8h24v4H0z"/><path fill="#ef3340" d="M0 12h24v4H0z"/><circle cx="12" cy="8" r="2.4" fill="#7a5a1e"/>`),
	"GTM": flag(`<path fill="#4997d0" d="M0 0h24v16H0z"/><path fill="#fff" d="M8 0h8v16H8z"/><circle cx="12" cy="8" r="2" fill="#448127"/>`),
	"HND": stripes("#00bce4", "#fff", "#00bce4", `<path fill="#00bce4" d="M9 6h2v1.5H9zM13 6h2v1.5h-2zM11 7.3h2v1.5h-2zM9 8.6h2v1.5H9zM13 8.6h2v1.5h-2z"/>`),
	"MEX": flag(`<path fill="#006847" d="M0 0h8v16H0z"/><path fill="#fff" d="M8 0h8v16H8z"/><path fill="#ce1126" d="M16 0h8v16h-8z"/><circle cx="12" cy="8" r="2" fill="#8c5a2b"/>`),
	"PAN": flag(`<path fill="#fff" d="M0 0h24v16H0z"/><path fill="#da121a" d="M12 0h12v8H12z"/><path fill="#072357" d="M0 8h12v8H0z"/><circle cx="6" cy="4" r="1.8" fill="#072357"/><circle cx="18" cy="12" r="1.8" fill="#da121a"/>`),
	"PER": flag(`<path fill="#d91023" d="M0 0h24v16H0z"/><path fill="#fff" d="M8 0h8v16H8z"/>`),
	"PRY": stripes("#d52b1e", "#fff", "#0038a8", `<circle cx="12" cy="8" r="1.6" fill="none" stroke="#009b3a"/>`),
	"SLV": stripes("#0f47af", "#fff", "#0f47af", `<circle cx="12" cy="8" r="1.7" fill="none" stroke="#c9a227"/>`),
	"URY": flag(`<path fill="#fff" d="M0 0h24v16H0z"/><path fill="#0038a8" d="M0 3h24v2H0zM0 7h24v2H0zM0 11h24v2H0z"/><path fill="#fff" d="M0 0h9v9H0z"/><circle cx="4.5" cy="4.5" r="2.2" fill="#fcd116"/>`),
	"USA": flag(`<path fill="#fff" d="M0 0h24v16H0z"/><path fill="#b22234" d="M0 0h24v1.8H0zM0 3.5h24v1.8H0zM0 7.1h24v1.8H0zM0 10.7h24v1.8H0zM0 14.2h24V16H0z"/><path fill="#3c3b6e" d="M0 0h10v8.9H0z"/>`),
}

func flag(shapes template.HTML) template.HTML {
	return `<svg class="flag" viewBox="0 0 24 16" aria-hidden="true">` + shapes + `</svg>`
}

func stripes(top, middle, bottom string, more template.HTML) template.HTML {
	return flag(template.HTML(`<path fill="`+top+`" d="M0 0h24v5.4H0z"/><path fill="`+middle+`" d="M0 5.3h24v5.4H0z"/><path fill="`+bottom+`" d="M0 10.7h24V16H0z"/>`) + more)
}

// markOf is a neutral sign for a kind of method; trade marks belong to their owners.
func markOf(r accounts.Rail) template.HTML {
	shapes := map[string]template.HTML{
		"pix":           `<path d="M12 3l9 9-9 9-9-9z"/><path d="M8.5 12L12 8.5l3.5 3.5-3.5 3.5z"/>`,
		"card":          `<rect x="3" y="6" width="18" height="12" rx="2"/><path d="M3 10h18M7 15h4"/>`,
		"wallet":        `<rect x="6" y="3" width="12" height="18" rx="2"/><path d="M11 18h2"/>`,
		"bank_transfer": bankMark, "spei": bankMark,
	}[r.Method]
	if shapes == "" {
		shapes = `<path d="M5 4v16M8 4v16M12 4v16M15 4v16M19 4v16"/>` // any voucher
	}
	return `<svg class="mark" viewBox="0 0 24 24" aria-hidden="true">` + shapes + `</svg>`
}

const bankMark template.HTML = `<path d="M3 10l9-6 9 6zM5 10v8M10 10v8M14 10v8M19 10v8M3 20h18"/>`
