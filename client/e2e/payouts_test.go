package e2e

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
)

func TestAWalletIsAddedAndWithdrawnTo(t *testing.T) {
	api, ctx := shop(t), t.Context()
	w, err := api.CreateWallet(ctx, client.NewWallet{Label: "Main", Type: "bank_account", Currency: "MXN", Destination: "032180000118359719"})
	if err != nil || !strings.HasPrefix(w.ID, "wal_") || w.Status != "active" || !w.IsDefault || w.DestinationMasked != "032****9719" || w.Network != "spei" {
		t.Fatalf("the wallet is %+v, %v", w, err)
	}
	cool, err := api.CreateWallet(ctx, client.NewWallet{Type: "bank_account", Currency: "USD", Destination: "12345", CoolDown: true})
	if err != nil || cool.Status != "pending_verification" || cool.IsDefault {
		t.Errorf("with a cool-down the wallet is %+v, %v", cool, err)
	}
	if read, err := api.Wallet(ctx, w.ID); err != nil || !reflect.DeepEqual(read, w) {
		t.Errorf("the wallet reads as %+v, %v, want %+v", read, err, w)
	}
	page, err := api.Wallets(ctx, "active", client.Page{Limit: 10})
	if err != nil || len(page.Data) != 1 || !reflect.DeepEqual(page.Data[0], w) || page.Pagination.Total != 1 {
		t.Errorf("the active wallets are %+v, %v", page, err)
	}
	_, err = api.CreateWithdrawal(ctx, client.NewWithdrawal{WalletID: w.ID, Amount: "10", IdempotencyKey: "payday"})
	refused(t, err, client.CodeBalanceInsufficient, http.StatusUnprocessableEntity)
	_, err = api.CreateWithdrawal(ctx, client.NewWithdrawal{WalletID: cool.ID, Amount: "10"})
	refused(t, err, client.CodeConflictState, http.StatusConflict)
	_, err = api.Withdrawal(ctx, "wdr_1")
	refused(t, err, client.CodeWithdrawalNotFound, http.StatusNotFound)
	_, err = api.CancelWithdrawal(ctx, "wdr_1")
	refused(t, err, client.CodeWithdrawalNotFound, http.StatusNotFound)
	none, err := api.Withdrawals(ctx, client.WithdrawalFilter{Status: "pending", WalletID: w.ID, From: time.Unix(1, 0), To: time.Now(), Limit: 5})
	if err != nil || len(none.Data) != 0 || none.Pagination.Limit != 5 {
		t.Errorf("the withdrawals are %+v, %v", none, err)
	}
	if err := api.DeleteWallet(ctx, w.ID); err != nil {
		t.Error(err)
	}
	if read, err := api.Wallet(ctx, w.ID); err != nil || read.Status != "disabled" {
		t.Errorf("the deleted wallet reads as %+v, %v", read, err)
	}
}

func TestAVerificationIsSimulated(t *testing.T) {
	api, ctx := shop(t), t.Context()
	n := client.NewVerification{Level: "basic", SubjectType: "individual", ReturnURL: "https://shop.example/back"}
	v, err := api.StartVerification(ctx, n)
	if err != nil || v.Status != "requires_input" || !v.ExpiresAt.After(time.Now()) || v.LastError != nil || !slices.Contains(v.RequiredDocuments, "proof_of_address") {
		t.Fatalf("the verification is %+v, %v", v, err)
	}
	if same, err := api.StartVerification(ctx, n); err != nil || same.ID != v.ID {
		t.Errorf("while it is open, another one was created: %+v, %v", same, err)
	}
	if v, err = api.SimulateVerification(ctx, v.ID, "rejected"); err != nil || v.LastError == nil || v.LastError.Code == "" {
		t.Errorf("rejected it is %+v, %v", v, err)
	}
	if read, err := api.Verification(ctx, v.ID); err != nil || read.Status != "rejected" {
		t.Errorf("it reads as %+v, %v", read, err)
	}
}
