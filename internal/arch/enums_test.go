package arch

import (
	"go/ast"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constants lists the values of the string constants of each type, as "package.Type", by the last
// part of the package's path.
func constants(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for _, s := range sources(t, false) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			of, typed := spec.Type.(*ast.Ident)
			value, literal := spec.Values[0].(*ast.BasicLit)
			if !typed || !literal || value.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(value.Value)
			if err != nil {
				t.Fatal(err)
			}
			name := s.dir[strings.LastIndexByte(s.dir, '/')+1:] + "." + of.Name
			if all[name] == nil {
				all[name] = map[string]bool{}
			}
			all[name][text] = true
			return true
		})
	}
	return all
}

// parts are the fields that have some of their type's values on purpose.
var parts = map[string]string{
	"internal/admin/payments/payments.go Outcome paid,not-charged":                                           paymentWords,
	"internal/admin/payouts/resolution.go Outcome paid,not-paid,returned":                                    withdrawalWords,
	"internal/admin/claims/resolution.go Origin provider,operator":                                           bookedOrigins,
	"internal/cli/claims/claims.go Origin provider,operator":                                                 bookedOrigins,
	"internal/admin/people/operators.go Right payouts,limits,adjustments,prices,credentials,manage,machine":  "the others never need two persons",
	"internal/admin/merchants/verifications.go Outcome verified,rejected":                                    "an operator decides nothing else",
	"internal/admin/shape/operators.go Right payouts,limits,adjustments,prices,credentials,manage,machine":   "the others never need two persons",
	"internal/admin/shape/resolution.go Provider approved,reversed,pending,declined,unknown,missing,expired": "the others are of calls that did not ask, or got no answer",
	"internal/admin/shape/resolution.go Provider paid,rejected,accepted,unknown,missing":                     "the others are of calls that did not ask, or got no answer",
	"internal/admin/shape/resolution.go Status pending,processing,failed,expired":                            "the others have an outcome",
	"internal/api/verification/verification.go Status processing,verified,rejected,expired":                  "a verification begins with the other",
	"internal/api/webhooks/webhooks.go Status enabled,disabled":                                              notDeleted,
	"internal/cli/payments/payment.go Outcome paid,not-charged":                                              paymentWords,
	"internal/cli/payouts/withdrawal.go Outcome paid,not-paid,returned":                                      withdrawalWords,
	"internal/view/claim.go Status pending,approved":                                                         "a refund begins so, or was made already",
	"internal/view/session.go Status pending":                                                                "a session with a payment is so",
	"internal/view/session.go TransactionStatus pending,processing,completed":                                "the others are told as errors",
	"internal/view/webhook.go Status enabled,disabled":                                                       notDeleted,
	"internal/view/webhook.go PreviousStatus failed,dead_letter":                                             "only a delivery that failed is sent again",
	"internal/view/webhook.go NewStatus pending":                                                             "it waits then",
	"internal/admin/settlements/adjustments.go Reason goodwill,fee_correction,provider_refund,late_cash_returned,payout_returned_in_part,wrong_amount,write_off,debt_paid_in,other": "a reversal names what it takes back",
	"internal/cli/settlements/adjust.go Reason goodwill,fee_correction,provider_refund,late_cash_returned,payout_returned_in_part,wrong_amount,write_off,debt_paid_in,other":        "a reversal names what it takes back",
}

const (
	paymentWords    = "the other words are of withdrawals"
	withdrawalWords = "the other word is of payments"
	bookedOrigins   = "the merchant's refunds are made, not booked"
	notDeleted      = "a deleted one is not shown"
)

// A tag cannot be made of constants, so what it lists is compared with them.
func TestEnumsListTheValuesOfTheirType(t *testing.T) {
	known := constants(t)
	compared, used := 0, map[string]bool{}
	for _, s := range sources(t, false) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil || len(field.Names) == 0 {
				return true
			}
			tag, err := strconv.Unquote(field.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			enum, has := reflect.StructTag(tag).Lookup("enum")
			of := field.Type
			if pointer, ok := of.(*ast.StarExpr); ok {
				of = pointer.X
			}
			selector, ok := of.(*ast.SelectorExpr)
			if !has || !ok {
				return true
			}
			name := selector.X.(*ast.Ident).Name + "." + selector.Sel.Name
			values := known[name]
			if values == nil {
				return true
			}
			compared++
			listed := map[string]bool{}
			for value := range strings.SplitSeq(enum, ",") {
				if value == "" { // of a flag that was not given
					continue
				}
				listed[value] = true
				if !values[value] {
					t.Errorf("%s: the enum of %s has %q, and %s has not", s.at(field), field.Names[0], value, name)
				}
			}
			where := s.path + " " + field.Names[0].Name + " " + enum
			switch why := parts[where]; {
			case len(listed) == len(values) && why != "":
				t.Errorf("%s has all values of %s: take it out of the list of parts", where, name)
			case len(listed) < len(values) && why == "":
				left := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(v string) bool { return listed[v] })
				t.Errorf("%s: the enum of %s leaves out %q of %s: add them, or say why in the list of parts (%q)", s.at(field), field.Names[0], left, name, where)
			default:
				used[where] = true
			}
			return true
		})
	}
	for where := range parts {
		if !used[where] {
			t.Errorf("the list of parts has %s, and there is no such field", where)
		}
	}
	if compared < 40 {
		t.Errorf("%d enums were compared: does the test still find them?", compared)
	}
}
