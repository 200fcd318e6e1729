package notices

import (
	"io"
	"net/http"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/accounts"
)

// notification accepts a provider's notification. The raw body is verified before it is parsed.
func (a *api) notification(w http.ResponseWriter, r *http.Request) {
	account := r.PathValue("account")
	if err := a.Gate.Notice(w.Header(), r); err != nil {
		a.WriteError(w, r, err)
		return
	}
	defer a.Gate.StrangersBody(w.Header(), r)()
	body, err := call.ReadBody(w, r)
	if err != nil {
		a.WriteError(w, r, err)
		return
	}
	if err := a.uses.Notices.Notify(r.Context(), account, accounts.Notification{Header: r.Header, Query: r.URL.Query(), Body: body}); err != nil {
		a.WriteError(w, r, a.Gate.BadNotice(w.Header(), account, err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"ok":true}`+"\n") // the provider may have gone
}
