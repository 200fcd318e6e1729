package payouts

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

var (
	carla = audit.Actor{Kind: audit.ByOperator, ID: "carla"}
	bruno = audit.Actor{Kind: audit.ByOperator, ID: "bruno"}
)

// fileShop returns the production client of a verified merchant with 1,000 USD available, and a wallet
// that the bank-file account banco pays.
func fileShop(t *testing.T, database string, credentials map[string]string) harness.Client {
	t.Helper()
	s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
		c.WalletCoolDown, c.Admin = time.Millisecond, "127.0.0.1:0"
	})
	s.Rate(t, "MXN 18.35", "BRL 5.4")
	s.PayOutBy(t, "bank-file", accounts.NewAccount{ID: "banco", Credentials: credentials})
	o := s.NewShop(t).Production()
	v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
	harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
	o.Fund(t, true, 1_000_00)
	o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`","holderName":"Ana Souza"}`)
	s.Clock.Advance(time.Second)
	return o
}

// waitingPayouts makes withdrawals that wait for a batch, and returns their ids.
func waitingPayouts(t *testing.T, o harness.Client, amounts ...string) (list []string) {
	t.Helper()
	for _, amount := range amounts {
		list = append(list, o.Withdraw(t, amount))
	}
	o.Clock.Advance(pay.WithdrawalHold(true))
	for _, id := range list {
		o.PayOut(t, id, "processing")
	}
	return list
}

// Withdrawals leave in a bank's file, which a second operator approves. The bank's answer ends them.
// An answer that is imported twice does no harm.
func TestPayoutsLeaveInFiles(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		o := fileShop(t, database, map[string]string{"layout": "csv"})
		list := waitingPayouts(t, o, "103", "53", "23", "13")
		deleted := o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"002010077777777771","holderName":"Eva"}`)
		o.Clock.Advance(time.Second)
		gone := o.Post(t, "/withdrawals", `{"amount":20,"walletId":"`+deleted+`"}`).Want(t, http.StatusCreated).Text(t, "id")
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, gone, "processing")
		o.Delete(t, "/wallets/"+deleted).Want(t, http.StatusOK)

		// Two operators who make a batch at once make one.
		var all sync.WaitGroup
		made := make([][]pay.Batch, 2)
		for i := range made {
			all.Go(func() {
				var err error
				made[i], err = o.App.Batches.Make(ctx, carla, "banco")
				harness.Must(t, err)
			})
		}
		all.Wait()
		batches := append(made[0], made[1]...)
		if len(batches) != 1 || batches[0].Lines != 4 || batches[0].Total.String() != "3303.00 MXN" {
			t.Fatalf("the batches are %+v, want one of 4 lines and 3303.00 MXN", batches)
		}
		b := batches[0]
		if r := o.Get(t, "/withdrawals/"+gone); r.Text(t, "failureCode") != "wallet_disabled" {
			t.Errorf("the withdrawal to a deleted wallet is %s, want wallet_disabled", r)
		}
		if _, _, err := o.App.Payouts.ResolveWithdrawal(ctx, carla, base.Resolution{ID: list[0], Word: pay.WordNotPaid, Note: "n", Force: true}); err == nil || !strings.Contains(message.Sentence(err), "dissolve the batch first") {
			t.Errorf("to resolve a withdrawal in a batch that is not exported returns %v, want that the batch must be dissolved", err)
		}
		if _, _, err := o.App.Batches.Export(ctx, bruno, b.ID); err == nil {
			t.Error("a file that nobody approved was exported")
		}
		if _, err := o.App.Batches.Approve(ctx, carla, b.ID); err == nil || !strings.Contains(message.Sentence(err), "another operator must") {
			t.Errorf("an approval by the operator who made the batch returns %v, want an error", err)
		}
		_, err := o.App.Batches.Dissolve(ctx, bruno, b.ID)
		harness.Must(t, err)
		again, err := o.App.Batches.Make(ctx, carla, "banco")
		harness.Must(t, err)
		if len(again) != 1 || again[0].Number != 2 || again[0].Lines != 4 {
			t.Fatalf("after the first batch was dissolved, the new ones are %+v, want number 2 with 4 lines", again)
		}
		b = again[0]
		_, err = o.App.Batches.Approve(ctx, bruno, b.ID)
		harness.Must(t, err)
		file, _, err := o.App.Batches.Export(ctx, bruno, b.ID)
		harness.Must(t, err)
		twice, left, err := o.App.Batches.Export(ctx, carla, b.ID)
		harness.Must(t, err)
		sum := sha256.Sum256(file)
		if !bytes.Equal(file, twice) || left.Checksum != hex.EncodeToString(sum[:]) || left.Status != pay.BatchExported {
			t.Errorf("the second export of %+v has another file or checksum", left)
		}
		if _, err := o.App.Batches.Dissolve(ctx, carla, b.ID); err == nil {
			t.Error("an exported batch was dissolved")
		}
		rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		harness.Must(t, err)
		if len(rows) != 5 || !strings.Contains(string(file), harness.CLABE) || !strings.Contains(string(file), "Ana Souza") || rows[1][2] != "1835.00" {
			t.Fatalf("the file is\n%s", file)
		}
		if _, _, err := o.App.Payouts.ResolveWithdrawal(ctx, carla, base.Resolution{ID: list[0], Word: pay.WordNotPaid, Note: "n"}); err == nil || !strings.Contains(message.Sentence(err), "was exported") || !strings.Contains(message.Sentence(err), "--force") {
			t.Errorf("to resolve an exported withdrawal without force returns %v, want an error", err)
		}

		// The bank answers a part, then the rest with a line that is not ours, then everything again.
		answer := func(lines ...string) payouts.ImportedAnswers {
			t.Helper()
			done, err := o.App.Batches.ImportAnswers(ctx, carla, "banco", []byte("reference,status,amount,currency,bank_reference\n"+strings.Join(lines, "\n")+"\n"))
			harness.Must(t, err)
			return done
		}
		line := func(i int, status, amount, ref string) string {
			return fmt.Sprintf("%s,%s,%s,MXN,%s", rows[i][0], status, amount, ref)
		}
		first := []string{line(1, "paid", "1835.00", "E1"), line(2, "pending", "", "")}
		rest := []string{line(2, "rejected", "", ""), line(3, "paid", "1.00", "E3"), line(4, "paid", "183.50", "E4"), "P000099L00001,paid,5.00,MXN,E9"}
		if done := answer(first...); done.Paid != 1 || done.Pending != 1 || len(done.Strange) != 0 {
			t.Errorf("the import of the first part returns %+v", done)
		}
		if done := answer(rest...); done.Paid != 1 || done.Rejected != 1 || len(done.Strange) != 2 {
			t.Errorf("the import of the rest returns %+v", done)
		}
		if done := answer(rest...); done.Paid != 0 || done.Known != 3 || len(done.Strange) != 1 {
			t.Errorf("the second import of the rest returns %+v", done)
		}
		if done := answer(append(first, rest...)...); done.Paid != 0 || done.Rejected != 0 {
			t.Errorf("the import of everything again returns %+v, want nothing new", done)
		}
		for i, want := range []string{"completed", "failed", "processing", "completed"} {
			if r := o.Get(t, "/withdrawals/"+list[i]); r.Text(t, "status") != want {
				t.Errorf("withdrawal %d is %s, want %s", i, r, want)
			}
		}
		if done := answer(line(1, "returned", "1835.00", "D1")); done.Returned != 1 {
			t.Errorf("the import of a return reports %+v, want 1 returned", done)
		}
		if r := o.Get(t, "/withdrawals/"+list[0]); r.Text(t, "status") != "failed" || r.Text(t, "completedAt") == "<nil>" || r.Text(t, "failureCode") != "returned" {
			t.Errorf("the returned withdrawal is %s, want failed with returned", r)
		}
		// 1000 less 103, 53, 23 and 13. The rejected 53 is back in full, the returned 103 without its fee.
		if got := harness.Available(t, o); got != "961" {
			t.Errorf("%s USD are available, want 961", got)
		}
		if _, err := o.App.Batches.ImportAnswers(ctx, carla, "banco", []byte("reference,status\nP1\n")); err == nil {
			t.Error("an answer that cannot be parsed was imported")
		}
		// A status of the bank that the service does not know is for the operator. He resolves the
		// withdrawal without force.
		if done := answer(line(3, "EXITOSO", "367.00", "E3")); len(done.Strange) != 1 || !strings.Contains(done.Strange[0], "EXITOSO") || done.Pending != 0 {
			t.Errorf("the import of an unknown status reports %+v, want it as strange", done)
		}
		harness.Eventually(t, "the operator's decision is taken", func() bool {
			w, _, err := o.App.Payouts.ResolveWithdrawal(ctx, carla, base.Resolution{ID: list[2], Word: pay.WordPaid, Note: "the bank says on the telephone"})
			if p, is := errors.AsType[*problem.Error](err); is && p.Details.Reason == "changed_meanwhile" { // by a look of the service's own
				return false
			}
			harness.Must(t, err)
			if w.Status != pay.WithdrawalDone {
				t.Errorf("the operator resolved the withdrawal as paid, but it is %v", w)
			}
			return true
		})
		story, err := o.App.Story(ctx, list[3])
		harness.Must(t, err)
		if !strings.Contains(story, "in the file of "+b.ID) || !strings.Contains(story, "E4") {
			t.Errorf("the story lacks the batch or the bank's reference:\n%s", story)
		}
		harness.Must(t, o.App.Notices.CloseNotification(ctx, o.App.Notices.Self(), func() string {
			waiting, err := o.App.Notices.Notifications(ctx, "", 10)
			harness.Must(t, err)
			if len(waiting) != 1 || waiting[0].Payment != list[2] {
				t.Fatalf("the notifications that wait for the operator are %+v, want one of the wrong amount", waiting)
			}
			return waiting[0].ID
		}(), "the bank corrected it"))
	})
}

// The file of each layout has the withdrawal. A withdrawal that a layout cannot have is refused before
// it is sent.
func TestPayoutsLeaveInTheBanksLayout(t *testing.T) {
	t.Parallel()
	for layout, c := range map[string]struct {
		credentials map[string]string
		size        int // of the file in bytes; 0: any
		want        string
	}{
		"spei-bbva":   {map[string]string{"account": "0123456789"}, 130, "1835.00"},
		"pain.001.09": {map[string]string{"name": "Operator SA", "iban": "DE89370400440532013000", "bic": "COBADEFFXXX"}, 0, "L00001"},
	} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			c.credentials["layout"] = layout
			o := fileShop(t, dbtest.SQLite(t), c.credentials)
			if layout == "pain.001.09" {
				w := o.Wallet(t, `{"type":"bank_account","currency":"EUR","network":"iban","destination":"DE89370400440532013000","holderName":"Ana Souza","bankCode":"COBADEFFXXX","bankCountry":"DEU"}`)
				o.Rate(t, "EUR 0.9")
				o.Clock.Advance(time.Second)
				id := o.Post(t, "/withdrawals", `{"amount":103,"walletId":"`+w+`"}`).Want(t, http.StatusCreated).Text(t, "id")
				o.Clock.Advance(pay.WithdrawalHold(true))
				o.PayOut(t, id, "processing")
			} else {
				waitingPayouts(t, o, "103")
			}
			made, err := o.App.Batches.Make(ctx, carla, "banco")
			harness.Must(t, err)
			_, err = o.App.Batches.Approve(ctx, bruno, made[0].ID)
			harness.Must(t, err)
			file, _, err := o.App.Batches.Export(ctx, bruno, made[0].ID)
			harness.Must(t, err)
			if !bytes.Contains(file, []byte(c.want)) || c.size > 0 && len(file) != c.size {
				t.Errorf("the file lacks %s, or has the wrong size of %d bytes:\n%s", c.want, len(file), file)
			}
		})
	}
	t.Run("what does not fit", func(t *testing.T) {
		t.Parallel()
		o := fileShop(t, dbtest.SQLite(t), map[string]string{"layout": "spei-bbva", "account": "0123456789"})
		w := o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"012180000118359713","holderName":"Eva"}`) // at BBVA itself
		o.Clock.Advance(time.Second)
		if r := o.Get(t, "/wallets/"+w); r.Text(t, "payable") != "false" || r.Text(t, "unpayableReason") != "no_payout_account" {
			t.Errorf("the wallet that the layout cannot pay is %s", r)
		}
		o.Post(t, "/withdrawals", `{"amount":20,"walletId":"`+w+`"}`).Refused(t, "503 service_unavailable api_error reason=no_payout_account")
		// Another account can pay to this wallet.
		o.PayOutBy(t, "manual", accounts.NewAccount{ID: "by-hand"})
		if r := o.Get(t, "/wallets/"+w); r.Text(t, "payable") != "true" {
			t.Errorf("with another account the wallet is %s, want payable", r)
		}
		id := o.Post(t, "/withdrawals", `{"amount":20,"walletId":"`+w+`"}`).Want(t, http.StatusCreated).Text(t, "id")
		e, err := o.App.Payouts.ExplainPayout(ctx, id)
		harness.Must(t, err)
		if len(e.Accounts) != 2 || !strings.HasPrefix(e.Accounts[0].Verdict, "cannot pay to this wallet: ") || !strings.Contains(e.Accounts[0].Verdict, "at BBVA itself") || e.Accounts[1].Verdict != "" {
			t.Errorf("the explanation for the operator has %+v", e.Accounts)
		}
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "processing")
	})
}

// A bank account in Brazil is paid by TED through a file, whether the operator's bank has FEBRABAN's layout or
// its own. Two banks may have an account of the same number.
func TestBankAccountInBrazilIsPaidByFile(t *testing.T) {
	t.Parallel()
	for name, credentials := range map[string]map[string]string{
		"cnab240":     {"bank_code": "001", "bank_name": "Banco do Brasil", "agreement": "0012345670126", "branch": "1234", "account": "67890", "account_digit": "X"},
		"sispag-itau": {"branch": "1234", "account": "67890", "account_digit": "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			credentials["layout"], credentials["name"], credentials["document"] = name, "Operadora Ltda", "11.222.333/0001-81"
			credentials["zone"] = "America/Sao_Paulo"
			o := fileShop(t, dbtest.SQLite(t), credentials)
			const account = `{"type":"bank_account","currency":"BRL","network":"ted","destination":"55555-1"`
			bare := o.Wallet(t, account+`}`)
			if r := o.Get(t, "/wallets/"+bare); r.Text(t, "unpayableReason") != "beneficiary_incomplete" {
				t.Errorf("a wallet without a bank is %s, want beneficiary_incomplete", r)
			}
			var list []string
			w := ""
			for _, bank := range []string{"237", "033"} {
				w = o.Wallet(t, account+`,"holderName":"Ana Souza","holderDocument":"52998224725","bankCode":"`+bank+`","branchCode":"4321","accountType":"checking"}`)
				o.Clock.Advance(time.Second)
				list = append(list, o.Post(t, "/withdrawals", `{"amount":103,"walletId":"`+w+`"}`).Want(t, http.StatusCreated).Text(t, "id"))
			}
			harness.Eventually(t, "the wallet's cool-down is over", func() bool { return o.Get(t, "/wallets/"+w).Text(t, "status") == "active" })
			o.Post(t, "/wallets", account+`,"holderName":"Ana","holderDocument":"52998224725","bankCode":"033","branchCode":"4321"}`).Refused(t, "409 conflict_state conflict_error param=destination reason=duplicate_destination from=active action=create")
			o.Clock.Advance(pay.WithdrawalHold(true))
			for _, id := range list {
				o.PayOut(t, id, "processing")
			}
			made, err := o.App.Batches.Make(ctx, carla, "banco")
			harness.Must(t, err)
			if len(made) != 1 || made[0].Lines != 2 {
				t.Fatalf("the batches are %+v, want one of two lines", made)
			}
			_, err = o.App.Batches.Approve(ctx, bruno, made[0].ID)
			harness.Must(t, err)
			file, _, err := o.App.Batches.Export(ctx, bruno, made[0].ID)
			harness.Must(t, err)
			rows := strings.SplitAfter(string(file), "\r\n")
			rows[0] = rows[0][:142] + "2" + rows[0][143:]
			for i, row := range rows {
				if len(row) > 14 && row[7] == '3' && row[13] == 'A' { // the bank reports the date and the amount
					rows[i] = row[:154] + row[93:101] + row[119:134] + row[177:230] + "00        \r\n"
				}
			}
			done, err := o.App.Batches.ImportAnswers(ctx, carla, "banco", []byte(strings.Join(rows, "")))
			harness.Must(t, err)
			if done.Paid != 2 || len(done.Strange) != 0 {
				t.Errorf("the import returns %+v, want two paid", done)
			}
			for _, id := range list {
				if r := o.Get(t, "/withdrawals/"+id); r.Text(t, "status") != "completed" {
					t.Errorf("the withdrawal is %s, want completed", r)
				}
			}
		})
	}
}

// A payment that the bank debited is paid only if the account says that this is the bank's last word. A wrong count
// in the bank's answer is for the operator; what the answer says counts all the same.
func TestDebitedIsPaidIfTheAccountSaysSo(t *testing.T) {
	t.Parallel()
	for acsc, want := range map[string]string{"paid": "completed", "": "processing"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			credentials := map[string]string{"layout": "pain.001.09", "name": "Operator SA", "iban": "DE89370400440532013000", "bic": "COBADEFFXXX"}
			if acsc != "" {
				credentials["acsc"] = acsc
			}
			o := fileShop(t, dbtest.SQLite(t), credentials)
			w := o.Wallet(t, `{"type":"bank_account","currency":"EUR","network":"iban","destination":"DE89370400440532013000","holderName":"Ana Souza"}`)
			o.Rate(t, "EUR 0.9")
			o.Clock.Advance(time.Second)
			id := o.Post(t, "/withdrawals", `{"amount":103,"walletId":"`+w+`"}`).Want(t, http.StatusCreated).Text(t, "id")
			o.Clock.Advance(pay.WithdrawalHold(true))
			o.PayOut(t, id, "processing")
			made, err := o.App.Batches.Make(ctx, carla, "banco")
			harness.Must(t, err)
			_, err = o.App.Batches.Approve(ctx, bruno, made[0].ID)
			harness.Must(t, err)
			_, _, err = o.App.Batches.Export(ctx, bruno, made[0].ID)
			harness.Must(t, err)
			done, err := o.App.Batches.ImportAnswers(ctx, carla, "banco", fmt.Appendf(nil, `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt><GrpHdr/>
<OrgnlGrpInfAndSts><OrgnlMsgId>%s</OrgnlMsgId><OrgnlNbOfTxs>0</OrgnlNbOfTxs></OrgnlGrpInfAndSts>
<OrgnlPmtInfAndSts><TxInfAndSts><OrgnlEndToEndId>%s</OrgnlEndToEndId><TxSts>ACSC</TxSts></TxInfAndSts></OrgnlPmtInfAndSts>
</CstmrPmtStsRpt></Document>`, strings.TrimPrefix(made[0].ID, pay.BatchPrefix), made[0].LineReference(1)))
			harness.Must(t, err)
			if done.Paid+done.Pending != 1 || len(done.Strange) != 1 || !strings.Contains(done.Strange[0], "OrgnlNbOfTxs is 0, and 1 transactions follow") {
				t.Errorf("the import returns %+v, want one line and one notice", done)
			}
			if r := o.Get(t, "/withdrawals/"+id); r.Text(t, "status") != want {
				t.Errorf("the withdrawal is %s, want %s", r, want)
			}
		})
	}
}
