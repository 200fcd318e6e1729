package console

import (
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// merchantsFile is the list of merchants as a file.
func (pg *pages) merchantsFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	file, err := pg.NewCSV(w, r, v, "merchants", "id", pg.Room.Text(v, "merchant"), pg.Room.Text(v, "email"), pg.Room.Text(v, "tier"), pg.Room.Text(v, "since"), pg.Room.Text(v, "paused"))
	if err != nil {
		return err
	}
	for after := ""; ; {
		list, err := pg.Uses.Onboarding.FindMerchants(r.Context(), strings.TrimSpace(r.FormValue("q")), after, frame.FileRows)
		if err != nil {
			return err
		}
		for _, m := range list {
			if err := file.Row(m.ID, m.Name, m.Email, pg.Room.Text(v, "tier_"+string(m.Tier)), m.CreatedAt, m.Paused); err != nil {
				return err
			}
		}
		if len(list) < frame.FileRows {
			return file.End()
		}
		after = list[len(list)-1].ID
	}
}

// auditFile is the audit log as a file, newest first.
func (pg *pages) auditFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	file, err := pg.NewCSV(w, r, v, "audit", "id", pg.Room.Text(v, "time"), pg.Room.Text(v, "act"), pg.Room.Text(v, "what"), pg.Room.Text(v, "object"), pg.Room.Text(v, "merchant"), pg.Room.Text(v, "who"), "IP", pg.Room.Text(v, "details"))
	if err != nil {
		return err
	}
	f, names := auditFilter(r), map[string]string{}
	for f.Before = ""; ; {
		list, err := pg.Uses.AuditLog(r.Context(), f, frame.FileRows)
		if err != nil {
			return err
		}
		for _, e := range list {
			one, err := pg.entry(r, v, names, e)
			if err != nil {
				return err
			}
			var details []string
			for _, d := range one.Details {
				details = append(details, d.Name+"="+d.Value)
			}
			who := one.Who
			if who == "" {
				who = string(e.By.Kind)
			}
			if err := file.Row(e.ID, e.At, string(e.Act), one.What, e.Object, e.Merchant, who, e.By.IP, strings.Join(details, " ")); err != nil {
				return err
			}
		}
		if len(list) < frame.FileRows {
			return file.End()
		}
		f.Before = list[len(list)-1].ID
	}
}

// auditFilter is what the query selects of the audit log.
func auditFilter(r *http.Request) audit.Filter {
	return audit.Filter{Merchant: r.FormValue("merchant"), Object: r.FormValue("object"), Act: audit.Act(r.FormValue("act")), Before: r.FormValue("cursor")}
}
