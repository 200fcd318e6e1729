package payouts_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/pay"
	payaccounts "github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/destination"
)

// openFiles opens a shop with the account banco, whose payouts leave in files.
func openFiles(t *testing.T, credentials map[string]string) *shop {
	t.Helper()
	s := open(t)
	s.account(accounts.NewAccount{ID: "banco", Adapter: "bank-file", Credentials: credentials})
	return s
}

var csvLayout = map[string]string{"layout": "csv"}

// handed makes withdrawals of USD cents that wait for a batch, and returns their ids.
func (s *shop) handed(amounts ...int64) (list []string) {
	s.Helper()
	for _, cents := range amounts {
		list = append(list, s.withdraw(cents))
	}
	s.due()
	for _, id := range list {
		s.is(id, "processing")
	}
	return list
}

// exported makes the only batch of an account, and exports its file.
func (s *shop) exported(account string) (pay.Batch, []byte) {
	s.Helper()
	made, err := s.batches.Make(s.Context(), carla, account)
	s.must(err)
	if len(made) != 1 {
		s.Fatalf("the batches are %+v, want one", made)
	}
	_, err = s.batches.Approve(s.Context(), bruno, made[0].ID)
	s.must(err)
	file, b, err := s.batches.Export(s.Context(), bruno, made[0].ID)
	s.must(err)
	return b, file
}

// answer imports a bank's answer about banco.
func (s *shop) answer(text string) payouts.ImportedAnswers {
	s.Helper()
	done, err := s.batches.ImportAnswers(s.Context(), carla, "banco", []byte(text))
	s.must(err)
	return done
}

// Withdrawals leave in a bank's file, each once, however many make batches at the same time; one whose wallet was deleted fails
// (PAYOUT-6, PAYOUT-12). Another operator than who made the file approves it. Before its export it can be dissolved, and nothing in it
// can be resolved; after it, it is always the same bytes.
func TestPayoutsLeaveInFiles(t *testing.T) {
	s := openFiles(t, csvLayout)
	list := s.handed(103_00, 53_00, 23_00, 13_00)
	deleted := s.addWallet("002010077777777771", pay.Beneficiary{Name: "Eva"}).ID
	gone, err := s.request(20_00, deleted)
	s.must(err)
	s.due()
	s.is(gone.ID, "processing")
	s.must(s.wallets.Delete(t.Context(), s.Operator, s.scope, deleted))

	var all sync.WaitGroup
	made := make([][]pay.Batch, 2)
	for i := range made {
		all.Go(func() {
			var err error
			made[i], err = s.batches.Make(t.Context(), carla, "banco")
			s.must(err)
		})
	}
	all.Wait()
	batches := append(made[0], made[1]...)
	if len(batches) != 1 || batches[0].Lines != 4 || batches[0].Total.String() != "3303.00 MXN" {
		t.Fatalf("the batches are %+v, want one of 4 lines and 3303.00 MXN", batches)
	}
	b := batches[0]
	s.is(gone.ID, "failed wallet_disabled")
	notPaid := base.Resolution{ID: list[0], Word: pay.WordNotPaid, Note: "n"}
	forced := notPaid
	forced.Force = true
	_, _, err = s.payouts.ResolveWithdrawal(t.Context(), carla, forced)
	refused(t, err, "conflict_state in_batch")
	_, _, err = s.batches.Export(t.Context(), bruno, b.ID)
	refused(t, err, "conflict_state")
	_, err = s.batches.Approve(t.Context(), carla, b.ID)
	refused(t, err, "conflict_state same_operator")
	_, err = s.batches.Dissolve(t.Context(), bruno, b.ID)
	s.must(err)
	b, file := s.exported("banco")
	if b.Number != 2 || b.Lines != 4 {
		t.Fatalf("after the first batch was dissolved, the new one is %+v, want number 2 with 4 lines", b)
	}
	twice, left, err := s.batches.Export(t.Context(), carla, b.ID)
	s.must(err)
	sum := sha256.Sum256(file)
	if !bytes.Equal(file, twice) || left.Checksum != hex.EncodeToString(sum[:]) || left.Status != pay.BatchExported {
		t.Errorf("the second export of %+v has another file or checksum", left)
	}
	_, err = s.batches.Dissolve(t.Context(), carla, b.ID)
	refused(t, err, "conflict_state")
	_, _, err = s.payouts.ResolveWithdrawal(t.Context(), carla, notPaid)
	refused(t, err, "conflict_state "+pay.OtherwiseSaid)
	rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	s.must(err)
	if len(rows) != 5 || rows[1][2] != "1835.00" || strings.Count(string(file), clabe) != 4 || !strings.Contains(string(file), "Ana Souza") {
		t.Errorf("the file is\n%s", file)
	}
}

// A bank's answer ends the withdrawals that it names, once: a file that is imported again, or one that repeats lines of another, does
// no harm. What is not ours, does not fit or is not understood is for the operator.
func TestAnswerThatIsImportedTwiceDoesNoHarm(t *testing.T) {
	s := openFiles(t, csvLayout)
	list := s.handed(103_00, 53_00, 23_00, 13_00)
	_, file := s.exported("banco")
	rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	s.must(err)
	line := func(i int, status, amount, ref string) string {
		return fmt.Sprintf("%s,%s,%s,MXN,%s", rows[i][0], status, amount, ref)
	}
	answer := func(want string, lines ...string) payouts.ImportedAnswers {
		t.Helper()
		done := s.answer("reference,status,amount,currency,bank_reference\n" + strings.Join(lines, "\n") + "\n")
		if got := fmt.Sprintf("%d paid, %d rejected, %d returned, %d pending, %d known, %d strange", done.Paid, done.Rejected, done.Returned, done.Pending, done.Known, len(done.Strange)); got != want {
			t.Errorf("the import returns %s, want %s: %v", got, want, done.Strange)
		}
		return done
	}
	first := []string{line(1, "paid", "1835.00", "E1"), line(2, "pending", "", "")}
	rest := []string{line(2, "rejected", "", ""), line(3, "paid", "1.00", "E3"), line(4, "paid", "183.50", "E4"), "P000099L00001,paid,5.00,MXN,E9"}
	answer("1 paid, 0 rejected, 0 returned, 1 pending, 0 known, 0 strange", first...)
	answer("1 paid, 1 rejected, 0 returned, 0 pending, 0 known, 2 strange", rest...)
	answer("0 paid, 0 rejected, 0 returned, 0 pending, 3 known, 1 strange", rest...)
	answer("0 paid, 0 rejected, 0 returned, 0 pending, 5 known, 1 strange", append(first, rest...)...)
	s.is(list[0], "completed")
	s.is(list[1], "failed rejected")
	s.is(list[2], "processing")
	if w := s.is(list[3], "completed"); w.Payout.BankRef != "E4" {
		t.Errorf("the bank's reference is %q, want E4", w.Payout.BankRef)
	}
	if len(s.waiting(list[2])) != 1 {
		t.Errorf("about the wrong amount wait %v", s.waiting(list[2]))
	}
	for range 2 {
		s.answer("reference,status,amount,currency,bank_reference\n" + line(1, "returned", "1835.00", "D1") + "\n")
	}
	if w := s.is(list[0], "failed returned"); w.CompletedAt.IsZero() {
		t.Errorf("the returned withdrawal was never completed: %+v", w)
	}
	s.has(961_00) // 1000 less 103, 53, 23 and 13; the rejected 53 is back in full, the returned 103 without its fee

	_, err = s.batches.ImportAnswers(t.Context(), carla, "banco", []byte("reference,status\nP1\n"))
	refused(t, err, "invalid_request file")
	done := answer("0 paid, 0 rejected, 0 returned, 0 pending, 0 known, 1 strange", line(3, "EXITOSO", "367.00", "E3"))
	if !strings.Contains(done.Strange[0], "EXITOSO") {
		t.Errorf("the operator reads %v", done.Strange)
	}
	w, _, err := s.payouts.ResolveWithdrawal(t.Context(), carla, base.Resolution{ID: list[2], Word: pay.WordPaid, Note: "the bank says on the telephone"})
	if err != nil || w.Status != pay.WithdrawalDone {
		t.Errorf("the operator resolved it as paid, and it is %v, %v", w, err)
	}
}

// openTwo opens a shop with two accounts that pay by files: banco up to 60 USD, banco2 the rest. Each has exported a batch with one
// withdrawal, the ids of which it returns.
func openTwo(t *testing.T) (s *shop, small, large string, b1, b2 pay.Batch) {
	t.Helper()
	s = open(t)
	s.account(accounts.NewAccount{ID: "banco", Adapter: "bank-file", Credentials: csvLayout, Terms: []payaccounts.RailTerms{{Limits: []payaccounts.Limit{{Currency: "USD", Min: 1, Max: 60_00}}}}})
	s.account(accounts.NewAccount{ID: "banco2", Adapter: "bank-file", Credentials: csvLayout, Priority: 9})
	list := s.handed(50_00, 100_00)
	b1, _ = s.exported("banco")
	b2, _ = s.exported("banco2")
	return s, list[0], list[1], b1, b2
}

// An answer about the file or the batch of another account ends nothing at this one.
func TestAnswerOfAnotherAccountEndsNothing(t *testing.T) {
	s, small, large, b1, b2 := openTwo(t)
	about := func(b pay.Batch) string {
		return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.03"><CstmrPmtStsRpt><GrpHdr><MsgId>X1</MsgId></GrpHdr><OrgnlGrpInfAndSts><OrgnlMsgId>` +
			strings.TrimPrefix(b.ID, pay.BatchPrefix) + `</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.03</OrgnlMsgNmId>`
	}
	const end = `</CstmrPmtStsRpt></Document>`
	for name, text := range map[string]string{
		"the whole file is refused": about(b2) + `<GrpSts>RJCT</GrpSts><StsRsnInf><Rsn><Cd>AM04</Cd></Rsn></StsRsnInf></OrgnlGrpInfAndSts>` + end,
		"one line is refused": about(b2) + `</OrgnlGrpInfAndSts><OrgnlPmtInfAndSts><OrgnlPmtInfId>1</OrgnlPmtInfId><TxInfAndSts><OrgnlEndToEndId>` + b1.LineReference(1) +
			`</OrgnlEndToEndId><TxSts>RJCT</TxSts><StsRsnInf><Rsn><Cd>AC04</Cd></Rsn></StsRsnInf></TxInfAndSts></OrgnlPmtInfAndSts>` + end,
	} {
		if done := s.answer(text); len(done.Strange) != 1 || done.Rejected != 0 {
			t.Errorf("%s: the import returns %+v, want one line for the operator", name, done)
		}
		s.is(small, "processing")
		s.is(large, "processing")
		s.has(850_00)
	}
	if done := s.answer(about(b1) + `<GrpSts>RJCT</GrpSts></OrgnlGrpInfAndSts>` + end); done.Rejected != 1 { // its own file
		t.Errorf("the import returns %+v", done)
	}
	s.has(900_00)
}

// A line may no longer fit the account's layout, because the settings changed or a crash left out the check. It must not block the
// other lines.
func TestLineThatDoesNotFitBlocksNoOther(t *testing.T) {
	s := openFiles(t, csvLayout)
	w := s.addWallet("012180000118359713", pay.Beneficiary{Name: "Eva"}) // at BBVA itself
	_, err := s.request(20_00, w.ID)
	s.must(err)
	s.handed(103_00)
	_, err = s.accounts.Rotate(t.Context(), carla, "banco", map[string]string{"layout": "spei-bbva", "account": "0123456789"})
	s.must(err)
	made, err := s.batches.Make(t.Context(), carla, "banco")
	if err != nil || len(made) != 1 || made[0].Lines != 1 {
		t.Errorf("the batches are %v, %v, want one with the line that fits", made, err)
	}
}

// A batch is neither made nor exported while payouts are stopped, nor exported if a wallet in it was deleted (PAYOUT-12).
func TestFileOfWhatIsStoppedDoesNotLeave(t *testing.T) {
	s := openFiles(t, csvLayout)
	s.handed(103_00)
	s.stop("a key was stolen")
	if made, err := s.batches.Make(t.Context(), carla, "banco"); err != nil || len(made) != 0 {
		t.Errorf("payouts are stopped, and the batches are %v, %v, want none", made, err)
	}
	s.stop("")
	made, err := s.batches.Make(t.Context(), carla, "banco")
	if err != nil || len(made) != 1 {
		t.Fatalf("the batches are %v, %v, want one", made, err)
	}
	_, err = s.batches.Approve(t.Context(), bruno, made[0].ID)
	s.must(err)
	s.stop("a key was stolen")
	_, _, err = s.batches.Export(t.Context(), bruno, made[0].ID)
	refused(t, err, "conflict_state payouts_stopped")
	s.stop("")
	s.must(s.wallets.Delete(t.Context(), s.Operator, s.scope, s.wallet))
	_, _, err = s.batches.Export(t.Context(), bruno, made[0].ID)
	refused(t, err, "conflict_state wallet_disabled")
}

var euros = destination.Destination{Type: "bank_account", Network: "iban", Currency: "EUR", Account: "DE89370400440532013000", Masked: "…3000"}

// The file of each layout has the withdrawal.
func TestPayoutsLeaveInTheBanksLayout(t *testing.T) {
	for layout, c := range map[string]struct {
		credentials map[string]string
		size        int // of the file in bytes; 0: any
		want        string
	}{
		"spei-bbva":   {map[string]string{"account": "0123456789"}, 130, "1835.00"},
		"pain.001.09": {map[string]string{"name": "Operator SA", "iban": "DE89370400440532013000", "bic": "COBADEFFXXX"}, 0, "L00001"},
	} {
		t.Run(layout, func(t *testing.T) {
			c.credentials["layout"] = layout
			s := openFiles(t, c.credentials)
			if layout == "pain.001.09" {
				s.rate("EUR", "0.9")
				s.wallet = s.addWalletTo(euros, pay.Beneficiary{Name: "Ana Souza", Bank: "COBADEFFXXX", Country: "DEU"}).ID
			}
			s.handed(103_00)
			if _, file := s.exported("banco"); !bytes.Contains(file, []byte(c.want)) || c.size > 0 && len(file) != c.size {
				t.Errorf("the file lacks %s, or has the wrong size of %d bytes:\n%s", c.want, len(file), file)
			}
		})
	}
}

// A withdrawal that a layout cannot have is refused before it is made. Another account may pay it.
func TestWalletThatTheLayoutCannotPay(t *testing.T) {
	s := openFiles(t, map[string]string{"layout": "spei-bbva", "account": "0123456789"})
	w := s.addWallet("012180000118359713", pay.Beneficiary{Name: "Eva"}) // at BBVA itself
	payable := func(want pay.Unpayable) {
		t.Helper()
		why, err := s.payouts.Payability(t.Context(), s.scope)
		s.must(err)
		if got := why(w); got != want {
			t.Errorf("the wallet is %q, want %q", got, want)
		}
	}
	payable(pay.UnpayableNoAccount)
	_, err := s.request(20_00, w.ID)
	refused(t, err, "service_unavailable no_payout_account")
	s.account(accounts.NewAccount{ID: "by-hand", Adapter: "manual"})
	payable(pay.Payable)
	made, err := s.request(20_00, w.ID)
	s.must(err)
	e, err := s.payouts.ExplainPayout(t.Context(), made.ID)
	s.must(err)
	if len(e.Accounts) != 2 || !strings.HasPrefix(e.Accounts[0].Verdict, "cannot pay to this wallet: ") || !strings.Contains(e.Accounts[0].Verdict, "at BBVA itself") || e.Accounts[1].Verdict != "" {
		t.Errorf("the explanation for the operator has %+v", e.Accounts)
	}
	s.due()
	if w := s.is(made.ID, "processing"); w.Payout.Provider != "by-hand" {
		t.Errorf("it is at %s", w.Payout.Provider)
	}
}

// A payment that the bank debited is paid only if the account says that this is the bank's last word. A wrong count in the bank's
// answer is for the operator; what the answer says counts all the same.
func TestDebitedIsPaidIfTheAccountSaysSo(t *testing.T) {
	for acsc, want := range map[string]string{"paid": "completed", "": "processing"} {
		t.Run(want, func(t *testing.T) {
			credentials := map[string]string{"layout": "pain.001.09", "name": "Operator SA", "iban": "DE89370400440532013000", "bic": "COBADEFFXXX"}
			if acsc != "" {
				credentials["acsc"] = acsc
			}
			s := openFiles(t, credentials)
			s.rate("EUR", "0.9")
			s.wallet = s.addWalletTo(euros, pay.Beneficiary{Name: "Ana Souza"}).ID
			id := s.handed(103_00)[0]
			b, _ := s.exported("banco")
			done := s.answer(fmt.Sprintf(`<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt><GrpHdr/>
<OrgnlGrpInfAndSts><OrgnlMsgId>%s</OrgnlMsgId><OrgnlNbOfTxs>0</OrgnlNbOfTxs></OrgnlGrpInfAndSts>
<OrgnlPmtInfAndSts><TxInfAndSts><OrgnlEndToEndId>%s</OrgnlEndToEndId><TxSts>ACSC</TxSts></TxInfAndSts></OrgnlPmtInfAndSts>
</CstmrPmtStsRpt></Document>`, strings.TrimPrefix(b.ID, pay.BatchPrefix), b.LineReference(1)))
			if done.Paid+done.Pending != 1 || len(done.Strange) != 1 || !strings.Contains(done.Strange[0], "OrgnlNbOfTxs is 0, and 1 transactions follow") {
				t.Errorf("the import returns %+v, want one line and one notice", done)
			}
			s.is(id, want)
		})
	}
}

// A bank account in Brazil is paid by TED through a file, whether the operator's bank has FEBRABAN's layout or its own. Two banks may
// have an account of the same number.
func TestBankAccountInBrazilIsPaidByFile(t *testing.T) {
	for name, credentials := range map[string]map[string]string{
		"cnab240":     {"bank_code": "001", "bank_name": "Banco do Brasil", "agreement": "0012345670126", "branch": "1234", "account": "67890", "account_digit": "X"},
		"sispag-itau": {"branch": "1234", "account": "67890", "account_digit": "2"},
	} {
		t.Run(name, func(t *testing.T) {
			credentials["layout"], credentials["name"], credentials["document"] = name, "Operadora Ltda", "11.222.333/0001-81"
			credentials["zone"] = "America/Sao_Paulo"
			s := openFiles(t, credentials)
			s.rate("BRL", "5.4")
			ted := destination.Destination{Type: "bank_account", Network: destination.TED, Currency: "BRL", Account: "555551", Masked: "…5551"}
			_, err := s.request(103_00, s.addWalletTo(ted, pay.Beneficiary{}).ID)
			refused(t, err, "conflict_state beneficiary_incompletewalletId")
			var list []string
			of := pay.Beneficiary{Name: "Ana Souza", Document: "52998224725", Branch: "4321", AccountType: "checking"}
			for _, bank := range []string{"237", "033"} {
				of.Bank = bank
				w, err := s.request(103_00, s.addWalletTo(ted, of).ID)
				s.must(err)
				list = append(list, w.ID)
			}
			_, err = s.wallets.Add(t.Context(), s.by, s.scope, payouts.NewWallet{Destination: ted, Beneficiary: of})
			refused(t, err, "conflict_state duplicate_destinationdestination")
			s.due()
			b, file := s.exported("banco")
			if b.Lines != 2 {
				t.Fatalf("the batch is %+v, want one of two lines", b)
			}
			rows := strings.SplitAfter(string(file), "\r\n")
			rows[0] = rows[0][:142] + "2" + rows[0][143:]
			for i, row := range rows {
				if len(row) > 14 && row[7] == '3' && row[13] == 'A' { // the bank reports the date and the amount
					rows[i] = row[:154] + row[93:101] + row[119:134] + row[177:230] + "00        \r\n"
				}
			}
			if done := s.answer(strings.Join(rows, "")); done.Paid != 2 || len(done.Strange) != 0 {
				t.Errorf("the import returns %+v, want two paid", done)
			}
			for _, id := range list {
				s.is(id, "completed")
			}
		})
	}
}
