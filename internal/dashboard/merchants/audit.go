package merchants

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// auditView is the page of the audit log.
type auditView struct {
	Rows   []happened
	Who    []frame.Option
	Pager  frame.Pager
	Reader *reader
}

// filterOf reads the filters of a request. who is "user:usr_…", "key:key_…" or a kind of actors.
//
// Errors: invalid_request for a date or an actor.
func filterOf(r *http.Request) (f audit.MerchantFilter, err error) {
	kind, actor, _ := strings.Cut(r.FormValue("who"), ":")
	f.Kind, f.Actor, f.After = audit.ActorKind(kind), actor, r.FormValue("cursor")
	if kind != "" && !slices.Contains(audit.ActorKinds(), f.Kind) {
		return f, problem.Field(problem.InvalidRequest, "who", unknownActor)
	}
	days, err := frame.Days(r)
	f.From, f.To = days.From, days.To
	return f, err
}

func (p *shopPages) audit(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, err := filterOf(r)
	if err != nil {
		return err
	}
	f.Limit = frame.Rows + 1
	list, err := p.Uses.MerchantAudit(r.Context(), v.Scope, f)
	if err != nil {
		return err
	}
	reader, err := p.reader(r, v)
	if err != nil {
		return err
	}
	view := auditView{Reader: reader, Who: reader.actors()}
	list, view.Pager.Next = frame.Cut(list, func(e audit.Entry) string { return e.ID })
	if view.Rows, err = reader.read(r.Context(), list); err != nil {
		return err
	}
	return p.room.Show(w, r, v, "audit", view)
}

// auditFile is the audit log as a file, with the filters of the page.
func (p *shopPages) auditFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, err := filterOf(r)
	if err != nil {
		return err
	}
	reader, err := p.reader(r, v)
	if err != nil {
		return err
	}
	t := func(key string) string { return p.room.Text(v, key) }
	file, err := p.NewCSV(w, r, v, "audit-"+v.Merchant.ID+"-"+string(v.Environment()), t("when"), t("actor_kind"), t("actor"), "id", t("act"), t("what"), t("details"), t("object"), t("address"), t("request"), t("environment"))
	if err != nil {
		return err
	}
	f.Limit = frame.FileRows
	for {
		list, err := p.Uses.MerchantAudit(r.Context(), v.Scope, f)
		if err != nil {
			return err
		}
		rows, err := reader.read(r.Context(), list)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := file.Row(row.At, row.Kind, strings.TrimSpace(row.Who+" "+row.Email), row.Actor, string(row.Act), row.What, row.Details, row.Object, row.Address, row.Request, row.In); err != nil {
				return err
			}
		}
		if len(list) < frame.FileRows {
			break
		}
		f.After = list[len(list)-1].ID
	}
	return file.End()
}

// actors are the choices of the filter: each member of the team, then all others by their kind.
func (rd *reader) actors() []frame.Option {
	var list []frame.Option
	for _, m := range rd.team.Members {
		list = append(list, frame.Option{Value: string(audit.ByUser) + ":" + m.ID, Label: m.Name})
	}
	for _, kind := range audit.ActorKinds() {
		list = append(list, frame.Option{Value: string(kind), Label: rd.text("all_" + string(kind))})
	}
	return list
}

// strangers returns the ids of users that entries name and that are not in the team.
func (rd *reader) strangers(list []audit.Entry) []string {
	var ids []string
	for _, e := range list {
		for _, id := range []string{e.By.ID, e.Object, e.Details["user"]} {
			if strings.HasPrefix(id, people.UserPrefix) && rd.names[id] == (person{}) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
