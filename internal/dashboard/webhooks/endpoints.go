package webhooks

import (
	"net/http"
	"slices"
	"strings"

	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// hookView is an endpoint as pages show it.
type hookView struct {
	webhooks.Subscription
	Health string // healthy, failing, paused, disabled, gone: disabled by the service
	Tone   string
	Recent appwebhooks.Recent
}

func viewHook(s webhooks.Subscription) hookView {
	view := hookView{Subscription: s, Health: "healthy", Tone: "good"}
	switch {
	case s.Status == webhooks.Disabled:
		view.Health, view.Tone = "disabled", "neutral"
		if s.Circuit.Open || !strings.Contains(s.DisabledReason, "owner") {
			view.Health, view.Tone = "gone", "bad"
		}
	case s.Circuit.Open:
		view.Health, view.Tone = "paused", "bad"
	case s.Circuit.Failures > 0:
		view.Health, view.Tone = "failing", "waiting"
	}
	return view
}

// All reports whether the endpoint gets all events.
func (h hookView) All() bool { return slices.Contains(h.Events, webhooks.AllEvents) }

// Newer reports whether there are types of events that the endpoint for all events does not get.
func (h hookView) Newer() bool { return h.All() && h.EventsVersion != webhooks.NewestEvents }

// webhooksView is the list of endpoints.
type webhooksView struct {
	Hooks []hookView
	Rates bool // of success are shown
	Pager frame.Pager
}

// mostRates is the most endpoints for which the list shows success rates, because each rate is read
// separately.
const mostRates = 10

func (p *pages) webhooks(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	list, total, err := p.Uses.Webhooks.Subscriptions(r.Context(), v.Scope, frame.PageOf(r))
	if err != nil {
		return err
	}
	list, next := frame.Cut(list, func(s webhooks.Subscription) string { return s.ID })
	view := webhooksView{Rates: len(list) <= mostRates, Pager: frame.Pager{Total: int(total), Next: next}}
	for _, s := range list {
		one := viewHook(s)
		if view.Rates {
			if one.Recent, err = p.Uses.Webhooks.Recent(r.Context(), s); err != nil {
				return err
			}
		}
		view.Hooks = append(view.Hooks, one)
	}
	return p.room.Show(w, r, v, "webhooks", view)
}

// webhookForm is the form of an endpoint.
type webhookForm struct {
	frame.Mistakes
	Sub     hookView // zero: a new one
	Managed bool     // the new one is an inbox here
	// Authentication is none, basic or header; "" in a form that does not ask. What is secret never goes back into the form.
	Authentication, Username, Header string
	secret                           string
	URL                              string
	Description                      string
	All                              bool
	Newest                           bool // take the newest set of events
	Events                           map[string]bool
	Types                            []frame.Option
}

// SecretHint says whether an empty field keeps the secret.
func (f webhookForm) SecretHint() string {
	if f.Sub.Authentication.None() {
		return "auth_sent"
	}
	return "auth_kept"
}

// credentials are what the form says; nil for none.
func (f webhookForm) credentials() *appwebhooks.Credentials {
	switch f.Authentication {
	case "basic":
		return &appwebhooks.Credentials{Username: f.Username, Password: f.secret}
	case "header":
		return &appwebhooks.Credentials{Header: f.Header, Value: f.secret}
	}
	return nil
}

// keepsSecret reports whether the form leaves the endpoint's credentials as they are. For another host they must be typed
// again, which the use case says.
func (f webhookForm) keepsSecret() bool {
	now, then := f.credentials(), f.Sub.Authentication
	return now != nil && f.secret == "" && !then.None() && now.Username == then.Username && now.Header == then.Header &&
		webhooks.AuthenticationOf(f.Sub.ID, f.URL) == webhooks.AuthenticationOf(f.Sub.ID, f.Sub.URL)
}

// typeChoices are the types of events, with what they mean.
func (p *pages) typeChoices(v *frame.Visit) (list []frame.Option) {
	for _, t := range webhooks.EventTypes() {
		list = append(list, frame.Option{Value: string(t), Label: string(t), Hint: p.room.Text(v, "ev_"+strings.ReplaceAll(string(t), ".", "_"))})
	}
	return list
}

func (p *pages) newWebhook(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.room.Show(w, r, v, "webhookform", webhookForm{All: true, Authentication: "none", Types: p.typeChoices(v), Events: map[string]bool{}})
}

// sentWebhook reads the form, without checks: the use case says what is wrong with it.
func (p *pages) sentWebhook(r *http.Request, v *frame.Visit) (f webhookForm, events []string) {
	f = webhookForm{
		Managed: r.FormValue("where") == "inbox", URL: strings.TrimSpace(r.FormValue("url")), Description: strings.TrimSpace(r.FormValue("description")),
		Authentication: r.FormValue("authentication"),
		All:            r.FormValue("which") != "some", Newest: r.FormValue("newest") != "", Types: p.typeChoices(v), Events: map[string]bool{},
	}
	switch f.Authentication {
	case "basic":
		f.Username, f.secret = strings.TrimSpace(r.FormValue("authentication.username")), r.FormValue("authentication.password")
	case "header":
		f.Header, f.secret = strings.TrimSpace(r.FormValue("authentication.header")), strings.TrimSpace(r.FormValue("authentication.value"))
	}
	for _, e := range r.Form["events"] {
		f.Events[e] = true
	}
	if f.All {
		return f, []string{webhooks.AllEvents}
	}
	return f, slices.Clone(r.Form["events"])
}

// described checks how long the description is.
//
// Errors: invalid_request.
func (f webhookForm) described() error {
	return problem.Fit(problem.Text{Param: "description", Text: f.Description, Most: webhooks.MaxDescription})
}

func (p *pages) subscribe(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, events := p.sentWebhook(r, v)
	n := appwebhooks.NewSubscription{Events: events, Description: f.Description}
	err := f.described()
	if !f.Managed {
		n.URL, n.Credentials = f.URL, f.credentials()
		if f.URL == "" { // for the use case that means an inbox
			err = problem.Field(problem.MissingField, "url", addressMissing)
		}
	}
	var made appwebhooks.Subscribed
	if err == nil {
		made, err = p.Uses.Webhooks.Subscribe(r.Context(), v.Principal, v.Scope, n)
	}
	if err == nil {
		return p.room.ShowSecret(w, r, v, frame.Secret{Title: "hook_made", Label: "signing_secret", About: "hook_once", Secret: made.Secret, Back: "webhooks/" + made.ID})
	}
	return p.wrongWebhook(w, r, v, f, err)
}

func (p *pages) wrongWebhook(w http.ResponseWriter, r *http.Request, v *frame.Visit, f webhookForm, err error) error {
	wrong, status, err := frame.MistakesOf(v, err)
	if err != nil {
		return err
	}
	for field, message := range wrong.Wrong { // events[2] is about the field events
		if name, _, found := strings.Cut(field, "["); found {
			wrong.Wrong[name] = message
		}
	}
	f.Mistakes = wrong
	return p.room.ShowStatus(w, r, v, status, "webhookform", f)
}

func (p *pages) editWebhook(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, err := p.Uses.Webhooks.Subscription(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	f := webhookForm{Sub: viewHook(s), Managed: s.Managed, URL: s.URL, Description: s.Description,
		Authentication: s.Authentication.Kind(), Username: s.Authentication.Username, Header: s.Authentication.Header, Types: p.typeChoices(v), Events: map[string]bool{}}
	f.All = f.Sub.All()
	for _, e := range s.Events {
		f.Events[e] = true
	}
	return p.room.Show(w, r, v, "webhookform", f)
}

func (p *pages) saveWebhook(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, err := p.Uses.Webhooks.Subscription(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	f, events := p.sentWebhook(r, v)
	f.Sub = viewHook(s)
	if events == nil {
		events = []string{} // none is an error; nil would keep them
	}
	edit := appwebhooks.SubscriptionEdit{SubscriptionEdit: webhooks.SubscriptionEdit{URL: &f.URL, Events: events, Description: &f.Description}}
	if edit.Credentials = f.credentials(); f.keepsSecret() {
		edit.Credentials = nil
	}
	edit.NoCredentials = f.Authentication == "none"
	if f.Newest {
		newest := webhooks.NewestEvents
		edit.EventsVersion = &newest
	}
	if err = f.described(); err == nil {
		_, err = p.Uses.Webhooks.EditSubscription(r.Context(), v.Principal, v.Scope, s.ID, edit)
	}
	if err != nil {
		return p.wrongWebhook(w, r, v, f, err)
	}
	return p.Done(w, r, v, "webhooks/"+s.ID, "hook_saved")
}

// confirm is a page that asks before an act on an endpoint. page is the path below it.
func (p *pages) confirm(w http.ResponseWriter, r *http.Request, v *frame.Visit, page, text, tone string) error {
	s, err := p.Uses.Webhooks.Subscription(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	return p.room.Ask(w, r, v, frame.Question{
		Title: text + "_title", Text: text + "_text", Button: text, What: s.URL, Action: "webhooks/" + s.ID + page, Back: "webhooks/" + s.ID, Tone: tone,
	})
}

func (p *pages) askDisable(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.confirm(w, r, v, "/status", "hook_disable", "bad")
}

func (p *pages) askSecret(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.confirm(w, r, v, "/secret", "hook_secret", "")
}

func (p *pages) askDelete(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.confirm(w, r, v, "/delete", "hook_delete", "bad")
}

// setStatus enables or disables an endpoint.
func (p *pages) setStatus(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	status, flash := webhooks.Disabled, "hook_is_disabled"
	if r.FormValue("status") == string(webhooks.Enabled) {
		status, flash = webhooks.Enabled, "hook_is_enabled"
	}
	s, err := p.Uses.Webhooks.EditSubscription(r.Context(), v.Principal, v.Scope, r.PathValue("id"), appwebhooks.SubscriptionEdit{SubscriptionEdit: webhooks.SubscriptionEdit{Status: &status}})
	if err != nil {
		return err
	}
	return p.Done(w, r, v, "webhooks/"+s.ID, flash)
}

func (p *pages) rollSecret(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, secret, err := p.Uses.Webhooks.RotateSecret(r.Context(), v.Principal, v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	return p.room.ShowSecret(w, r, v, frame.Secret{Title: "hook_rolled", Label: "signing_secret", About: "hook_once", Secret: secret, Back: "webhooks/" + s.ID, Until: s.PreviousUntil})
}

func (p *pages) unsubscribe(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if err := p.Uses.Webhooks.Unsubscribe(r.Context(), v.Principal.Actor(), v.Scope, r.PathValue("id")); err != nil {
		return err
	}
	return p.Done(w, r, v, "webhooks", "hook_deleted")
}

// inboxView is what a managed inbox received.
type inboxView struct {
	Sub   hookView
	List  []webhooks.Received
	Pager frame.Pager
}

func (p *pages) inbox(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, err := p.Uses.Webhooks.Subscription(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	list, total, err := p.Uses.Webhooks.Inbox(r.Context(), v.Scope, s.ID, frame.PageOf(r))
	if err != nil {
		return err
	}
	list, next := frame.Cut(list, func(got webhooks.Received) string { return got.ID })
	return p.room.Show(w, r, v, "inbox", inboxView{viewHook(s), list, frame.Pager{Total: int(total), Next: next}})
}
