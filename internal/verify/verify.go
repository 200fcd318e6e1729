// Package verify is the page of a merchant's verification: which documents to hand in, and its status.
// Anybody who has its address may see it; the address comes from POST /kyc/init and contains a token.
//
// It takes no documents: those go to the operator, who decides with the
// command cascada kyc.
package verify

import (
	"bytes"
	_ "embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/app/verification"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
)

//go:embed page.html
var source string

var page = template.Must(template.New("page").Parse(source))

// content is what the page shows. A page without an id says how to begin.
type content struct {
	Title     string
	ID        string
	Level     merchants.KYCLevel
	Status    merchants.VerificationStatus
	Documents []string
	Error     string
	Expires   string
	Sandbox   bool
	Return    string
	Missing   bool
}

type pages struct {
	uses *verification.Verifications
	log  *slog.Logger
}

// New returns the pages below /kyc.
func New(u *verification.Verifications, log *slog.Logger) http.Handler {
	p := &pages{u, log}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /kyc", func(w http.ResponseWriter, _ *http.Request) {
		p.show(w, http.StatusOK, content{Title: "Verification"})
	})
	mux.HandleFunc("GET /kyc/{id}", func(w http.ResponseWriter, r *http.Request) {
		v, err := u.Page(r.Context(), r.PathValue("id"), r.URL.Query().Get("token"))
		p.verification(w, r, v, err)
	})
	mux.HandleFunc("POST /kyc/{id}", p.handIn)
	return mux
}

// handIn notes that the merchant has sent its documents. A repeat shows the page again.
func (p *pages) handIn(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	_, err := p.uses.HandIn(r.Context(), r.PathValue("id"), token)
	var shown *problem.Error
	if err == nil || errors.As(err, &shown) && shown.Code == problem.ConflictState {
		// The browser loads the page anew, so that a reload sends nothing twice.
		http.Redirect(w, r, r.URL.Path+"?token="+token, http.StatusSeeOther)
		return
	}
	p.verification(w, r, merchants.Verification{}, err)
}

func (p *pages) verification(w http.ResponseWriter, r *http.Request, v merchants.Verification, err error) {
	var shown *problem.Error
	switch {
	case web.ClientLeft(r.Context(), err):
	case errors.As(err, &shown):
		p.show(w, http.StatusNotFound, content{Title: "Verification not found", Missing: true})
	case err != nil:
		p.log.ErrorContext(r.Context(), "a verification's page failed", "route", r.Pattern, "error", err)
		http.Error(w, "something went wrong on our side: try again", http.StatusInternalServerError)
	default:
		c := content{
			Title: "Verification", ID: v.ID, Level: v.Level, Status: v.Status, Error: v.ErrorMessage, Sandbox: !v.Live, Return: v.ReturnURL,
			Expires: v.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC"),
		}
		for _, d := range v.Documents() {
			c.Documents = append(c.Documents, strings.ReplaceAll(d, "_", " "))
		}
		p.show(w, http.StatusOK, c)
	}
}

func (p *pages) show(w http.ResponseWriter, status int, c content) {
	var text bytes.Buffer
	if err := page.Execute(&text, c); err != nil {
		p.log.Error("a verification's page failed", "error", err)
		http.Error(w, "something went wrong on our side: try again", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Referrer-Policy", "no-referrer") // the address holds the token
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // the browser may be gone
}
