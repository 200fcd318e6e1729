package decisions

import (
	"cmp"
	"net/http"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// outcome is what was decided, as the audit log has it.
func outcome(e audit.Entry) string {
	switch e.Act {
	case audit.WithdrawalApproved, audit.AdjustmentApproved:
		return "approved"
	case audit.AdjustmentRejected:
		return "rejected"
	case audit.NotificationClosed:
		return "closed"
	}
	return cmp.Or(e.Details["word"], e.Details["to"])
}

// decidedFile is what people decided as a file, newest first: when, who, what, and why.
func (p *pages) decidedFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	said := func(key string) string { return p.Room.Text(v, key) }
	file, err := p.NewCSV(w, r, v, "decisions", "id", said("decided_at"), said("who"), said("decision"), said("object"), said("outcome"), said("why"), said("merchant"), said("environment"))
	if err != nil {
		return err
	}
	names := map[string]string{}
	for before := ""; ; {
		list, next, err := p.Uses.Decisions(r.Context(), before, frame.FileRows)
		if err != nil {
			return err
		}
		for _, e := range list {
			who, err := p.Who(r.Context(), names, e.By.ID)
			if err != nil {
				return err
			}
			if err := file.Row(e.ID, e.At, who, string(e.Act), e.Object, outcome(e), e.Details["note"], e.Merchant, said("env_"+string(e.Environment()))); err != nil {
				return err
			}
		}
		if before = next; before == "" {
			return file.End()
		}
	}
}
