package privacy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/view"
)

// word is in every text of a filled object. As an address it has a query.
const word = "ana?of=ana"

// fill gives every text in a value a word.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{word: word}))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[view.Number]() {
			v.Set(reflect.ValueOf(view.Number{Text: "1"}))
			return
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field)
			}
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() { // a type of its own has values of its own
			v.SetString(word)
		}
	}
}

// named returns the paths of an event's object at which the word is.
func named(t *testing.T, event []byte) (paths []string) {
	t.Helper()
	var root any
	if err := json.Unmarshal(event, &root); err != nil {
		t.Fatal(err)
	}
	var walk func(at any, path string)
	walk = func(at any, path string) {
		switch at := at.(type) {
		case map[string]any:
			for name, value := range at {
				walk(value, path+"."+name)
			}
		case []any:
			for _, value := range at {
				walk(value, path+".*")
			}
		case string:
			if at == word {
				paths = append(paths, strings.TrimPrefix(strings.TrimSuffix(path, "."+word), ".data.object."))
			}
		}
	}
	walk(root, "")
	slices.Sort(paths)
	return paths
}

// An erasure blanks the fields of an event that internal/view marks as personal. All other texts stay: whoever adds a field
// decides which of the two it is (DATA-3). Events that are stored keep the old name of a field that is renamed: that has to be
// blanked, too.
func TestEventsKeepNoPersonalField(t *testing.T) {
	for _, c := range []struct {
		object         any
		blanked, stays string
	}{
		{&view.Transaction{}, "checkoutUrl description documentId lineItems.*.name lineItems.*.sku metadata refund.reason userEmail userName",
			"attention.claimId country currency disputes.*.claimId disputes.*.outcome failure.code failure.declineCode failure.message fees.taxName id installments.paidBy merchantOrderId paymentData.bankName paymentData.barcode " +
				"paymentData.barcodeImageUrl paymentData.beneficiary paymentData.clabe paymentData.qrCode paymentData.qrCodeImageUrl paymentData.reference " +
				"paymentData.type paymentData.voucherUrl paymentFormUrl paymentLinkId paymentMethod paymentMethodId refund.refundId refund.transactionId " +
				"settlement.delay settlement.status settlement.type tries.*.code tries.*.declineCode"},
		{&view.Claim{}, "evidence.*.file.name evidence.*.kind evidence.*.text reason timeline.*.note",
			"evidence.*.file.contentType evidence.*.file.sha256 evidence.*.id feeTax.name id merchantOrderId networkReasonCode origin outcome previousClaimId timeline.*.actor " +
				"transaction.country transaction.currency transaction.id transaction.merchantOrderId transaction.paymentMethodId transactionId"},
		{&view.PaymentLink{}, "description lineItems.*.name lineItems.*.sku metadata returnUrl", "country id merchantId merchantOrderId qrCodeImageUrl shopId transactionId url"},
		{&view.Wallet{}, "label", "beneficiary.* currency destinationMasked id network unpayableReason"},
	} {
		t.Run(fmt.Sprintf("%T", c.object), func(t *testing.T) {
			fill(reflect.ValueOf(c.object).Elem())
			event, err := json.Marshal(map[string]any{"data": map[string]any{"object": c.object}})
			if err != nil {
				t.Fatal(err)
			}
			all := named(t, event)
			left, changed, err := blank(event)
			if err != nil || !changed {
				t.Fatalf("changed: %t, error: %v", changed, err)
			}
			stays := named(t, left)
			blanked := slices.DeleteFunc(all, func(path string) bool { return slices.Contains(stays, path) })
			if got := strings.Join(blanked, " "); got != c.blanked {
				t.Errorf("blanked is\n%s, want\n%s", got, c.blanked)
			}
			if got := strings.Join(stays, " "); got != c.stays {
				t.Errorf("what stays is\n%s, want\n%s", got, c.stays)
			}
			if again, changed, err := blank(left); err != nil || changed || string(again) != string(left) {
				t.Errorf("blanked again it is %s, %v", again, err)
			}
		})
	}
}

// The reason of a chargeback is the network's, not a shopper's.
func TestReasonOfAChargebackStays(t *testing.T) {
	event := []byte(`{"data":{"object":{"reason":"fraudulent","type":"` + string(pay.ChargebackClaim) + `"}}}`)
	if left, changed, err := blank(event); changed || err != nil || string(left) != string(event) {
		t.Errorf("it is %s, %v", left, err)
	}
}
