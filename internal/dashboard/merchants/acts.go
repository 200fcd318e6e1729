package merchants

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// happened is an entry of the audit log as people read it.
type happened struct {
	ID         string
	At         time.Time
	Kind       string // of the actor, in words
	Actor      string // id; "" if the merchant is not told
	Who, Email string // name, or what stands for it
	Act        audit.Act
	What       string
	Details    string
	Object     string // its name, or its id
	ObjectID   string // "" if its name says it
	URL        string // of the object's page, "" if there is none
	Address    string
	Request    string
	In         string // the environment, in words
}

// person is who a user is to the reader.
type person struct {
	name, email string
	operator    bool
	member      bool
}

// reader writes entries for people.
type reader struct {
	*shopPages
	v     *frame.Visit
	team  teamView
	names map[string]person
	keys  map[string]string // previews of keys, by id
}

func (p *shopPages) reader(r *http.Request, v *frame.Visit) (*reader, error) {
	team, err := p.load(r, v)
	if err != nil {
		return nil, err
	}
	keys, _, err := p.Uses.Keys.List(r.Context(), v.Merchant.ID)
	if err != nil {
		return nil, err
	}
	rd := &reader{p, v, team, map[string]person{}, map[string]string{}}
	for _, m := range team.Members {
		rd.names[m.ID] = person{m.Name, m.Email, false, true}
	}
	for _, k := range keys {
		rd.keys[k.ID] = k.Preview
	}
	return rd, nil
}

func (rd *reader) text(key string, args ...any) string {
	return rd.shopPages.room.Text(rd.v, key, args...)
}

// read writes entries for people.
func (rd *reader) read(ctx context.Context, list []audit.Entry) ([]happened, error) {
	others, err := rd.Uses.Team.Named(ctx, rd.strangers(list))
	if err != nil {
		return nil, err
	}
	for id, u := range others {
		rd.names[id] = person{u.Name, u.Email, u.Operator != "", false}
	}
	rows := make([]happened, len(list))
	for i, e := range list {
		rows[i] = rd.one(e)
	}
	return rows, nil
}

func (rd *reader) one(e audit.Entry) happened {
	h := happened{
		ID: e.ID, At: e.At, Kind: rd.text("by_" + string(e.By.Kind)), Act: e.Act, What: rd.shopPages.room.Act(rd.v, e.Act), Details: rd.details(e),
		Address: e.By.IP, Request: e.By.Request, In: rd.text("env_" + string(e.Environment())),
	}
	h.Who, h.Email, h.Actor = rd.actor(e.By)
	if e.By.Kind == audit.ByOperator || e.By.Kind == audit.ByUser && h.Actor == "" { // where the operator sits is none of the merchant's business
		h.Address = ""
	}
	h.Object, h.ObjectID = rd.object(e)
	h.URL = rd.url(e)
	return h
}

// actor is who did something. The merchant is not told which operator or which provider's account it was (SVC-7).
func (rd *reader) actor(by audit.Actor) (name, email, id string) {
	switch by.Kind {
	case audit.ByUser:
		p := rd.names[by.ID]
		switch {
		case p.operator && !p.member:
			return rd.text("by_operator"), "", ""
		case p.name == "":
			return rd.text("removed_user"), "", by.ID
		}
		return p.name, p.email, by.ID
	case audit.ByKey:
		if preview := rd.keys[by.ID]; preview != "" {
			return preview, "", by.ID
		}
		return by.ID, "", by.ID
	}
	return rd.text("by_" + string(by.Kind)), "", ""
}

// object is the name of what something was done to, and its id if that helps to find it.
func (rd *reader) object(e audit.Entry) (name, id string) {
	subject := subjectOf(e)
	switch {
	case strings.HasPrefix(subject, people.UserPrefix):
		if p := rd.names[subject]; p.operator && !p.member {
			return "", ""
		} else if p.name != "" {
			return p.name, ""
		}
		return rd.text("removed_user"), subject
	case strings.HasPrefix(subject, people.LinkPrefix): // of those that still work, it is known whom they invite
		if i := slices.IndexFunc(rd.team.Invited, func(l invitation) bool { return l.ID == subject }); i >= 0 {
			return rd.team.Invited[i].Email, ""
		}
		return "", ""
	case strings.HasPrefix(subject, people.SignInPrefix):
		return "", ""
	case subject == rd.v.Merchant.ID:
		return rd.v.Merchant.Name, ""
	}
	if i := slices.IndexFunc(rd.v.Shops, func(s merchants.Shop) bool { return s.ID == subject }); i >= 0 {
		return rd.v.Shops[i].Name, ""
	}
	if preview := rd.keys[subject]; preview != "" {
		return preview, ""
	}
	return "", subject
}

// subjectOf is what an entry is about: a sign-in is about its user.
func subjectOf(e audit.Entry) string {
	if user := e.Details["user"]; user != "" {
		return user
	}
	return e.Object
}

// pagesOf are the pages of objects, by the beginning of their ids. Those without a page of their own are in a list.
var pagesOf = []struct{ prefix, page, list string }{
	{people.UserPrefix, "/team/members/*", ""}, {pay.PaymentPrefix, "/payments/*", "/payments"}, {pay.ClaimPrefix, "/claims/*", "/refunds"}, {pay.SettlementPrefix, "/settlements/*", "/settlements"},
	{pay.WithdrawalPrefix, "/withdrawals/*", "/withdrawals"}, {pay.WalletPrefix, "", "/withdrawals"}, {webhooks.SubscriptionPrefix, "/webhooks/*", "/webhooks"}, {"key_", "/keys/*", "/keys"},
	{merchants.ShopPrefix, "", "/shop"}, {merchants.MerchantPrefix, "", "/shop"},
}

// url is the address of the object's page. It is in the environment of the entry.
func (rd *reader) url(e audit.Entry) string {
	subject := subjectOf(e)
	for _, p := range pagesOf {
		if !strings.HasPrefix(subject, p.prefix) {
			continue
		}
		if p.prefix == people.UserPrefix && !rd.names[subject].member {
			return ""
		}
		shop, environment := rd.v.Shop.ID, rd.v.Environment()
		if e.Shop != "" {
			shop = e.Shop
		}
		if p.prefix != people.UserPrefix && p.prefix != merchants.ShopPrefix && p.prefix != merchants.MerchantPrefix {
			environment = e.Environment()
		}
		home := rd.At("/" + shop + "/" + string(environment))
		switch {
		case rd.pages()[p.page] && p.page != "":
			return home + strings.Replace(p.page, "*", subject, 1)
		case rd.pages()[p.list] && p.list != "":
			return home + p.list
		}
	}
	return ""
}

// details are what else an entry says.
func (rd *reader) details(e audit.Entry) string {
	var list []string
	for _, name := range audit.ForMerchants {
		if value := e.Details[name]; value != "" && (name != "amount" || strings.Contains(value, " ")) { // without a currency it is for programs
			list = append(list, rd.text("detail_"+name)+": "+rd.value(name, value))
		}
	}
	return strings.Join(list, " · ")
}

// value is a detail in words where there are some.
func (rd *reader) value(name, value string) string {
	switch {
	case slices.Contains(people.Roles(), people.Role(value)) && (name == "role" || name == "before"):
		return rd.text("role_" + value)
	case name == "kind" && (value == string(people.Invitation) || value == string(people.PasswordReset) || value == string(people.SignInLink)):
		return rd.text("link_" + value)
	case name == "language" || name == "before" && slices.Contains(merchants.Languages(), merchants.Language(value)):
		return map[string]string{"en": "English", "es": "Español", "pt": "Português"}[value]
	case name == "refundFees" || name == "before" && slices.Contains(merchants.AllRefundFees(), merchants.RefundFees(value)):
		return rd.text("fees_" + value)
	}
	return value
}
