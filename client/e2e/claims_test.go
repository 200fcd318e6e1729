package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
)

func TestARefundIsFollowedByItsClaim(t *testing.T) {
	api, ctx := shop(t), t.Context()
	p, err := api.CreatePayment(ctx, client.NewPayment{Amount: "10", PaymentMethodID: "sbx_card", MerchantOrderID: "order-1"})
	if err != nil {
		t.Fatal(err)
	}
	// A second payment pays for the fees of the first, which are kept when it is refunded.
	if _, err := api.CreatePayment(ctx, client.NewPayment{Amount: "10", PaymentMethodID: "sbx_card"}); err != nil {
		t.Fatal(err)
	}
	part := client.NewRefund{Amount: "2.50", Reason: "duplicate", IdempotencyKey: "part"}
	r, err := api.Refund(ctx, p.ID, part)
	if err != nil || !strings.HasPrefix(r.ID, "CLM-") || r.TransactionID != p.ID || r.Amount != "2.5" || r.AmountUSD != "2.5" ||
		r.Currency != "USD" || r.Status != "pending" || r.Reason != "duplicate" || r.CreatedAt.IsZero() || r.Replayed {
		t.Errorf("the refund is %+v, %v", r, err)
	}
	again, err := api.Refund(ctx, p.ID, part)
	if err != nil || again.ID != r.ID || !again.Replayed {
		t.Errorf("the repeat is %+v, %v, want a replay of %s", again, err, r.ID)
	}
	rest, err := api.Refund(ctx, p.ID, client.NewRefund{})
	if err != nil || rest.Amount != "7.5" {
		t.Errorf("the rest is %+v, %v, want 7.50", rest, err)
	}
	_, err = api.Refund(ctx, p.ID, client.NewRefund{})
	if e := refused(t, err, client.CodeConflictState, http.StatusConflict); e.Details.Reason != "fully_refunded" {
		t.Errorf("the details are %+v, want fully_refunded", e.Details)
	}
	claim, err := api.Claim(ctx, r.ID)
	if err != nil || claim.Type != client.UserDispute || claim.Status != client.ClaimApproved || claim.Outcome != client.ClaimApproved ||
		claim.MerchantOrderID != "order-1" || claim.ResolvedAt.IsZero() || len(claim.Timeline) != 2 || claim.FrozenUSD != "0" {
		t.Errorf("the claim is %+v, %v", claim, err)
	}
	_, err = api.Claim(ctx, "CLM-no/such")
	refused(t, err, client.CodeClaimNotFound, http.StatusNotFound)
	var seen []string
	for claim, err := range api.AllClaims(ctx, client.ClaimFilter{TransactionID: p.ID, Status: client.ClaimApproved, Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, claim.ID)
	}
	if len(seen) != 2 || seen[0] != rest.ID || seen[1] != r.ID {
		t.Errorf("the iterator returned %v, want %s and %s", seen, rest.ID, r.ID)
	}
}

func TestAChargebackIsAnswered(t *testing.T) {
	api, ctx := shop(t), t.Context()
	var ids []string
	for range 2 {
		if _, err := api.CreatePayment(ctx, client.NewPayment{Amount: "10", PaymentMethodID: "sbx_card", Simulate: client.SimulateChargeback}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := api.Claims(ctx, client.ClaimFilter{Type: client.ChargebackClaim, Status: client.ClaimNeedsEvidence})
	if err != nil || page.Pagination.Total != 2 {
		t.Fatalf("the page is %+v, %v", page, err)
	}
	for _, claim := range page.Data {
		if !claim.EvidenceDueBy.After(time.Now()) || claim.FeeUSD == "0" || claim.FrozenUSD != "10" {
			t.Errorf("the claim is %+v", claim)
		}
		ids = append(ids, claim.ID)
	}
	claim, err := api.SubmitEvidence(ctx, ids[0], client.NewEvidence{Kind: "receipt", Text: "paid in person",
		File: &client.NewEvidenceFile{Name: "receipt.txt", ContentType: "text/plain", Content: []byte("thank you")}})
	if err != nil || claim.Status != client.ClaimUnderReview || len(claim.Evidence) != 1 || claim.Evidence[0].File == nil || claim.Evidence[0].File.Size != 9 {
		t.Fatalf("the claim is %+v, %v", claim, err)
	}
	if content, err := api.DownloadEvidence(ctx, ids[0], claim.Evidence[0].ID); err != nil || string(content) != "thank you" {
		t.Errorf("the file is %q, %v", content, err)
	}
	_, err = api.DownloadEvidence(ctx, ids[0], "ev_none")
	refused(t, err, client.CodeNotFound, http.StatusNotFound)
	if claim, err = api.AcceptClaim(ctx, ids[1]); err != nil || claim.Status != client.ClaimApproved {
		t.Errorf("the accepted claim is %+v, %v", claim, err)
	}
	_, err = api.SubmitEvidence(ctx, ids[1], client.NewEvidence{Kind: "other", Text: "too late"})
	refused(t, err, client.CodeClaimAlreadyResolved, http.StatusConflict)
}
