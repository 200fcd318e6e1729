package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/client/admin"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// office is a service with the admin API, and the generated client of an operator.
func office(t *testing.T, database string) (*admin.Client, string) {
	t.Helper()
	s, err := daemon.Start(t.Context(), daemon.Config{Listen: "127.0.0.1:0", Admin: "127.0.0.1:0", Database: database, Adapters: []provider.Adapter{providertest.Plain()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	token, _, err := s.App.Operators.Add(t.Context(), s.App.Self(), auth.Newcomer{Name: "terraform", Role: operators.Admin})
	if err != nil {
		t.Fatal(err)
	}
	c, err := admin.NewClient(s.AdminURL, admin.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return c, s.AdminURL
}

// The client is made of the document that the service serves: make client.
func TestAdminClientIsOfTheDocument(t *testing.T) {
	_, url := office(t, dbtest.SQLite(t))
	r, err := http.Get(url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	trim := exec.Command("go", "run", "main.go")
	trim.Dir, trim.Stdin, trim.Stderr = "../admin/trim", r.Body, os.Stderr
	got, err := trim.Output()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../admin/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, kept) {
		t.Error("client/admin/openapi.json is not of the document that the service serves: make client")
	}
}

// answer reads the reply of a call.
func answer(t *testing.T, r *http.Response, err error) map[string]any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode > 299 {
		t.Fatalf("%s %s: %d %s", r.Request.Method, r.Request.URL.Path, r.StatusCode, body)
	}
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// valueAt reads a value below names that have dots between them.
func valueAt(v map[string]any, path string) string {
	var below any = v
	for name := range strings.SplitSeq(path, ".") {
		of, _ := below.(map[string]any)
		below = of[name]
	}
	return fmt.Sprint(below)
}

// resource is something that a program keeps as its configuration says, as Terraform does.
type resource struct {
	name   string
	create func() string // returns its id
	read   func(id string) map[string]any
	apply  func(id string, change bool) // the configuration, or the changed one
	want   map[string][2]string         // what is read, by path, after the configuration and after the changed one
	end    func(id string)
	ended  func(id string) bool
}

func (x resource) run(t *testing.T) {
	id := x.create()
	check := func(when string, which int) {
		t.Helper()
		got := x.read(id)
		for path, want := range x.want {
			if valueAt(got, path) != want[which] {
				t.Errorf("%s: %s is %q, want %q: %v", when, path, valueAt(got, path), want[which], got)
			}
		}
	}
	check("created", 0)
	x.apply(id, false)
	check("applied again", 0)
	x.apply(id, true)
	check("changed", 1)
	x.apply(id, true)
	check("changed again", 1)
	x.end(id)
	if !x.ended(id) {
		t.Errorf("it has not ended: %v", x.read(id))
	}
}

func TestAdminClientKeepsResources(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		c, _ := office(t, database)
		for _, x := range resources(t, c) {
			t.Run(x.name, x.run)
		}
	})
}

// pick returns the first text, or the second one for the changed configuration.
func pick(change bool, first, second string) string {
	if change {
		return second
	}
	return first
}

func resources(t *testing.T, c *admin.Client) []resource {
	ctx, u := t.Context(), providertest.NewUpstream(t, "key-1")
	key := func(name string) *string { return &name }
	text := func(format string, args ...any) io.Reader { return strings.NewReader(fmt.Sprintf(format, args...)) }
	const kind = "application/json"
	call := func(r *http.Response, err error) map[string]any { t.Helper(); return answer(t, r, err) }
	merchant := valueAt(call(c.CreateMerchant(ctx, &admin.CreateMerchantParams{IdempotencyKey: key("m0")}, admin.NewMerchantBody{Name: "Base", Email: "base@acme.example"})), "merchant.id")
	return append(tenants(t, c, merchant), []resource{{
		name: "account",
		create: func() string {
			return valueAt(call(c.OpenAccount(ctx, &admin.OpenAccountParams{IdempotencyKey: key("a")}, admin.OpenBody{
				Id: key("bank"), Adapter: "plain", Environment: "production", BaseUrl: &u.URL, Credentials: map[string]string{"apiKey": "key-1", "webhookSecret": "w"},
			})), "id")
		},
		read: func(id string) map[string]any { return call(c.GetAccount(ctx, id)) },
		apply: func(id string, change bool) {
			version := valueAt(call(c.GetAccount(ctx, id)), "version")
			call(c.ChangeAccountWithBody(ctx, id, kind, text(`{"version":%s,"priority":%s}`, version, pick(change, "100", "5"))))
		},
		want:  map[string][2]string{"priority": {"100", "5"}, "status": {"enabled", "enabled"}},
		end:   func(id string) { call(c.RemoveAccount(ctx, id, nil)) },
		ended: func(id string) bool { return valueAt(call(c.GetAccount(ctx, id)), "status") == "removed" },
	}, {
		name: "plan",
		create: func() string {
			call(c.ApplyPlanWithBody(ctx, "gold", kind, text(`{"prices":[{"percent":1.2}],"settlement":{"delay":"48h"}}`)))
			return "gold"
		},
		read: func(id string) map[string]any { return call(c.GetPlan(ctx, id)) },
		apply: func(id string, change bool) {
			call(c.ApplyPlanWithBody(ctx, id, kind, text(`{"prices":[{"percent":1.2}],"settlement":{"delay":%q}}`, pick(change, "48h", "72h"))))
		},
		want:  map[string][2]string{"settlement.delay": {"48h", "72h"}, "version": {"1", "2"}},
		end:   func(string) {}, // a plan stays: payments were made with it
		ended: func(string) bool { return true },
	}, {
		name: "plan assignment",
		create: func() string {
			call(c.ChangeMerchantWithBody(ctx, merchant, kind, text(`{"plan":{"name":"gold"},"reason":"a contract"}`)))
			return merchant
		},
		read: func(id string) map[string]any { return call(c.GetMerchant(ctx, id)) },
		apply: func(id string, change bool) {
			if plan := pick(change, "gold", "premium"); !strings.HasPrefix(valueAt(call(c.GetMerchant(ctx, id)), "plan"), plan) {
				call(c.ChangeMerchantWithBody(ctx, id, kind, text(`{"plan":{"name":%q},"reason":"a contract"}`, plan)))
			}
		},
		want: map[string][2]string{"plan": {"gold/2", "premium"}},
		end: func(id string) {
			call(c.ChangeMerchantWithBody(ctx, id, kind, text(`{"plan":{"name":"starter"},"reason":"it has ended"}`)))
		},
		ended: func(id string) bool { return valueAt(call(c.GetMerchant(ctx, id)), "plan") == "starter" },
	}, {
		name: "routing rules",
		create: func() string {
			call(c.ApplyRoutingRules(ctx, admin.RulesBody{Version: 0, File: "order: least_cost\n"}))
			return ""
		},
		read: func(string) map[string]any { return call(c.GetRoutingRules(ctx)) },
		apply: func(_ string, change bool) {
			version := valueAt(call(c.GetRoutingRules(ctx)), "version")
			call(c.ApplyRoutingRulesWithBody(ctx, kind, text(`{"version":%s,"file":%q}`, version, pick(change, "order: least_cost\n", "order: success_rate\n"))))
		},
		want:  map[string][2]string{"version": {"1", "2"}, "applied": {"true", "true"}},
		end:   func(string) { call(c.ResetRoutingRules(ctx, nil)) },
		ended: func(string) bool { return valueAt(call(c.GetRoutingRules(ctx)), "applied") == "false" },
	}, {
		name: "rate",
		create: func() string {
			call(c.SetRate(ctx, "BRL", admin.RateBody{Rate: "5.4", Source: key("desk")}))
			return "BRL"
		},
		read: func(id string) map[string]any { return call(c.GetRate(ctx, id)) },
		apply: func(id string, change bool) {
			call(c.SetRate(ctx, id, admin.RateBody{Rate: pick(change, "5.4", "5.5"), Source: key("desk")}))
		},
		want:  map[string][2]string{"rate": {"5.4", "5.5"}, "source": {"desk", "desk"}},
		end:   func(string) {}, // a rate is followed by the next one
		ended: func(string) bool { return true },
	}, {
		name: "payout limits",
		create: func() string {
			call(c.ChangePayoutLimitsWithBody(ctx, "production", nil, kind, text(`{"daily":"20000"}`)))
			return ""
		},
		read: func(string) map[string]any { return call(c.GetPayoutLimits(ctx, "production", nil)) },
		apply: func(_ string, change bool) {
			call(c.ChangePayoutLimitsWithBody(ctx, "production", nil, kind, text(`{"daily":%q}`, pick(change, "20000", "30000"))))
		},
		want:  map[string][2]string{"daily": {"20000", "30000"}, "version": {"1", "2"}},
		end:   func(string) { call(c.ChangePayoutLimitsWithBody(ctx, "production", nil, kind, text(`{"daily":"0"}`))) },
		ended: func(string) bool { return valueAt(call(c.GetPayoutLimits(ctx, "production", nil)), "daily") == "0" },
	}, {
		name: "operator",
		create: func() string {
			return valueAt(call(c.AddOperator(ctx, &admin.AddOperatorParams{IdempotencyKey: key("o")}, admin.NewOperatorBody{Name: "bot", Role: "viewer"})), "operator.name")
		},
		read: func(id string) map[string]any { return call(c.GetOperator(ctx, id)) },
		apply: func(id string, change bool) {
			call(c.ChangeOperatorWithBody(ctx, id, kind, text(`{"role":%q}`, pick(change, "viewer", "support"))))
		},
		want:  map[string][2]string{"role": {"viewer", "support"}},
		end:   func(id string) { call(c.RemoveOperator(ctx, id)) },
		ended: func(id string) bool { return valueAt(call(c.GetOperator(ctx, id)), "removedAt") != "<nil>" },
	}, {
		name:   "dual control", // released again only by two persons: the change is the one that one person may make
		create: func() string { return "prices" },
		read: func(id string) map[string]any {
			for _, d := range call(c.ListDualControls(ctx))["data"].([]any) {
				if d := d.(map[string]any); d["right"] == id {
					return d
				}
			}
			return nil
		},
		apply: func(id string, change bool) {
			call(c.SetDualControl(ctx, admin.SetDualControlParamsRight(id), admin.DualControlBody{Required: change}))
		},
		want:  map[string][2]string{"required": {"false", "true"}},
		end:   func(string) {},
		ended: func(string) bool { return true },
	}}...)
}

// tenants are the resources of a merchant.
func tenants(t *testing.T, c *admin.Client, merchant string) []resource {
	ctx := t.Context()
	key := func(name string) *string { return &name }
	text := func(format string, args ...any) io.Reader { return strings.NewReader(fmt.Sprintf(format, args...)) }
	const kind = "application/json"
	call := func(r *http.Response, err error) map[string]any { t.Helper(); return answer(t, r, err) }
	return []resource{{
		name: "merchant",
		create: func() string {
			body := admin.NewMerchantBody{Name: "Acme", Email: "ops@acme.example"}
			first := valueAt(call(c.CreateMerchant(ctx, &admin.CreateMerchantParams{IdempotencyKey: key("m")}, body)), "merchant.id")
			if again := valueAt(call(c.CreateMerchant(ctx, &admin.CreateMerchantParams{IdempotencyKey: key("m")}, body)), "merchant.id"); again != first {
				t.Errorf("a repeat made the merchant %s after %s", again, first)
			}
			return first
		},
		read: func(id string) map[string]any { return call(c.GetMerchant(ctx, id)) },
		apply: func(id string, change bool) {
			call(c.ChangeContactWithBody(ctx, id, kind, text(`{"email":"ops@acme.example","language":%q}`, pick(change, "en", "es"))))
		},
		want: map[string][2]string{"language": {"en", "es"}, "email": {"ops@acme.example", "ops@acme.example"}, "tier": {"starter", "starter"}},
		end:  func(id string) { call(c.PauseMerchant(ctx, id, admin.PauseBody{Reason: "it has ended"})) },
		ended: func(id string) bool {
			return valueAt(call(c.GetMerchant(ctx, id)), "paused") == "it has ended"
		},
	}, {
		name: "shop",
		create: func() string {
			return valueAt(call(c.CreateShop(ctx, merchant, &admin.CreateShopParams{IdempotencyKey: key("s")}, admin.NewShopBody{Name: "Two"})), "shop.id")
		},
		read: func(id string) map[string]any { return call(c.GetShop(ctx, id)) },
		apply: func(id string, change bool) {
			call(c.ChangeShopWithBody(ctx, id, kind, text(`{"name":"Two","brand":{"color":%q}}`, pick(change, "", "#0a7d5a"))))
		},
		want:  map[string][2]string{"name": {"Two", "Two"}, "brand.color": {"", "#0a7d5a"}},
		end:   func(string) {}, // a shop stays with its payments
		ended: func(string) bool { return true },
	}, {
		name: "key",
		create: func() string {
			return valueAt(call(c.CreateKey(ctx, merchant, &admin.CreateKeyParams{IdempotencyKey: key("k")}, admin.NewKeyBody{Environment: "sandbox"})), "key.id")
		},
		read:  func(id string) map[string]any { return call(c.GetKey(ctx, id)) },
		apply: func(string, bool) {}, // another key takes its place
		want:  map[string][2]string{"kind": {"secret", "secret"}, "status": {"active", "active"}, "environment": {"sandbox", "sandbox"}},
		end:   func(id string) { call(c.RevokeKey(ctx, id)) },
		ended: func(id string) bool { return valueAt(call(c.GetKey(ctx, id)), "status") == "ended" },
	}, {
		name: "user invitation",
		create: func() string {
			role := admin.InvitationBodyRole("viewer")
			return valueAt(call(c.InviteUser(ctx, &admin.InviteUserParams{IdempotencyKey: key("i")}, admin.InvitationBody{Email: "eva@acme.example", MerchantId: &merchant, Role: &role})), "invitation.id")
		},
		read: func(id string) map[string]any {
			return call(c.GetInvitation(ctx, id, &admin.GetInvitationParams{MerchantId: &merchant}))
		},
		apply: func(string, bool) {}, // another invitation takes its place
		want:  map[string][2]string{"email": {"eva@acme.example", "eva@acme.example"}, "role": {"viewer", "viewer"}},
		end: func(id string) {
			call(c.WithdrawInvitation(ctx, id, &admin.WithdrawInvitationParams{MerchantId: &merchant}))
		},
		ended: func(string) bool {
			list, _ := call(c.ListInvitations(ctx, &admin.ListInvitationsParams{MerchantId: &merchant}))["data"].([]any)
			return len(list) == 0
		},
	}}
}
