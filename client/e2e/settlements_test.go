package e2e

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
)

// settled returns a client of a shop with that many payments of 10 USD in a closed
// settlement.
func settled(t *testing.T, payments int) (*client.Client, client.Settlement) {
	t.Helper()
	api, ctx := shop(t), t.Context()
	for range payments {
		if _, err := api.CreatePayment(ctx, client.NewPayment{Amount: "10", PaymentMethodID: "sbx_card", MerchantOrderID: "order-1"}); err != nil {
			t.Fatal(err)
		}
	}
	// After the delay of two days; a day after the closing it would be paid.
	if _, err := api.AdvanceClock(ctx, 50*time.Hour); err != nil {
		t.Fatal(err)
	}
	var page client.SettlementPage
	wait(t, "a settlement has closed and its receipt is drawn", func() bool {
		var err error
		page, err = api.Settlements(ctx, client.SettlementFilter{Status: client.SettlementClosed})
		return err == nil && len(page.Data) == 1 && page.Data[0].PDFURL != ""
	})
	return api, page.Data[0]
}

func TestASettlementIsReadLineByLineAndPaid(t *testing.T) {
	api, s := settled(t, 2)
	ctx := t.Context()
	if !strings.HasPrefix(s.ID, "STL-") || s.Currency != "USD" || s.TransactionCount != 2 || s.GrossVolume != "20" || s.Fees.Total == "0" ||
		s.ReserveHeld == "0" || s.Refunds != "0" || s.PeriodEnd.IsZero() || s.ClosedAt.IsZero() || !s.PaidAt.IsZero() || s.CSVURL == "" {
		t.Errorf("the settlement is %+v", s)
	}
	if read, err := api.Settlement(ctx, s.ID); err != nil || !reflect.DeepEqual(read, s) {
		t.Errorf("it reads as %+v, %v, want %+v", read, err, s)
	}
	page, err := api.SettlementTransactions(ctx, s.ID, client.Page{Limit: 1, Offset: 1})
	if want := (client.Pagination{Total: 2, Limit: 1, Offset: 1, Pages: 2}); err != nil || len(page.Data) != 1 || page.Pagination != want {
		t.Fatalf("the second page is %+v, %v, want one line and %+v", page, err, want)
	}
	line := page.Data[0]
	if line.Number != 2 || line.Type != "charge" || !strings.HasPrefix(line.TransactionID, "TXN-") || line.MerchantOrderID != "order-1" ||
		line.Amount != "10" || line.AmountLocal != "10" || line.CurrencyLocal != "USD" || line.Fees.Total == "0" || line.Reserve == "0" || line.ClaimID != "" {
		t.Errorf("the second line is %+v", line)
	}
	var lines []client.SettlementLine
	for l, err := range api.AllSettlementTransactions(ctx, s.ID) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	if len(lines) != 2 || lines[0].Number != 1 || lines[1] != line {
		t.Errorf("the iterator returned %+v, want the two lines in their order", lines)
	}

	open, err := api.Settlements(ctx, client.SettlementFilter{Status: client.SettlementOpen})
	if err != nil || len(open.Data) != 1 {
		t.Fatalf("the open settlements are %+v, %v, want the next one", open, err)
	}
	_, err = api.SimulateSettlement(ctx, open.Data[0].ID, client.SimulatePaid)
	refused(t, err, client.CodeConflictState, http.StatusConflict)
	if _, err := api.CreateWallet(ctx, client.NewWallet{Type: "bank_account", Currency: "MXN", Destination: "032180000118359719"}); err != nil {
		t.Fatal(err)
	}
	paid, err := api.SimulateSettlement(ctx, s.ID, client.SimulatePaid)
	if err != nil || paid.ID != s.ID || paid.Status != client.SettlementPaid || paid.PaidAt.IsZero() || len(paid.WithdrawalIDs) != 1 || paid.Payout == nil || paid.Payout.Amount != s.NetAmount {
		t.Errorf("paid it is %+v, %v", paid, err)
	}
	_, err = api.SimulateSettlement(ctx, s.ID, client.SimulatePaid)
	refused(t, err, client.CodeSettlementAlreadyPaid, http.StatusConflict)

	_, err = api.Settlement(ctx, "STL-no/such?one")
	refused(t, err, client.CodeSettlementNotFound, http.StatusNotFound)
	_, err = api.SettlementTransactions(ctx, "STL-1", client.Page{})
	refused(t, err, client.CodeSettlementNotFound, http.StatusNotFound)
	for _, err := range api.AllSettlementTransactions(ctx, "STL-1") {
		refused(t, err, client.CodeSettlementNotFound, http.StatusNotFound)
	}
}

func TestSettlementsAreFilteredAndGoneThrough(t *testing.T) {
	api, s := settled(t, 1)
	for _, c := range []struct {
		filter client.SettlementFilter
		want   int
	}{
		{client.SettlementFilter{Limit: 1}, 2},
		{client.SettlementFilter{Limit: 1, Offset: 1}, 1},
		{client.SettlementFilter{Status: client.SettlementPaid}, 0},
		{client.SettlementFilter{From: s.CreatedAt, To: s.CreatedAt.Add(time.Hour)}, 2},
		{client.SettlementFilter{From: s.CreatedAt.Add(time.Hour)}, 0},
		{client.SettlementFilter{To: s.CreatedAt}, 0},
	} {
		all := api.AllSettlements(t.Context(), c.filter)
		for _, round := range []string{"once", "again"} {
			var got []string
			for s, err := range all {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, s.ID)
			}
			if len(got) != c.want {
				t.Errorf("%+v selects %v %s, want %d settlements", c.filter, got, round, c.want)
			}
		}
	}
	lost := client.SettlementFilter{Status: "lost"}
	_, err := api.Settlements(t.Context(), lost)
	refused(t, err, client.CodeInvalidRequest, http.StatusBadRequest)
	for _, err := range api.AllSettlements(t.Context(), lost) {
		refused(t, err, client.CodeInvalidRequest, http.StatusBadRequest)
	}
}

func TestASettlementsReportComesAsAFile(t *testing.T) {
	api, s := settled(t, 2)
	ctx := t.Context()
	report := func(format client.ReportFormat) []byte {
		var file bytes.Buffer
		if err := api.SettlementReport(ctx, s.ID, format, &file); err != nil {
			t.Errorf("the %s is %v", format, err)
		}
		return file.Bytes()
	}
	for _, format := range []client.ReportFormat{client.ReportPDF, ""} {
		if pdf := report(format); !bytes.HasPrefix(pdf, []byte("%PDF-")) {
			t.Errorf("%q begins with %.20q, want a PDF", format, pdf)
		}
	}
	if rows, err := csv.NewReader(bytes.NewReader(report(client.ReportCSV))).ReadAll(); err != nil || len(rows) != 3 {
		t.Errorf("the CSV is %v, %v, want headings and two lines", rows, err)
	}
	for format, begins := range map[client.ReportFormat]string{client.ReportCSVPoint: ",", client.ReportCSVComma: ";"} {
		if sheet := string(report(format)); !strings.HasPrefix(sheet, "\ufeff") || !strings.Contains(sheet[:12], begins) {
			t.Errorf("%s begins with %.20q", format, sheet)
		}
	}
	var whole struct {
		Settlement   client.Settlement       `json:"settlement"`
		Transactions []client.SettlementLine `json:"transactions"`
	}
	if err := json.Unmarshal(report(client.ReportJSON), &whole); err != nil || !reflect.DeepEqual(whole.Settlement, s) || len(whole.Transactions) != 2 {
		t.Errorf("the JSON is %+v, %v", whole, err)
	}

	refuses := func(id string, format client.ReportFormat, code client.Code, status int) {
		t.Helper()
		var file bytes.Buffer
		refused(t, api.SettlementReport(ctx, id, format, &file), code, status)
		if file.Len() != 0 {
			t.Errorf("a refusal wrote %q", file.String())
		}
	}
	refuses("STL-1", client.ReportCSV, client.CodeSettlementNotFound, http.StatusNotFound)
	refuses(s.ID, "xls", client.CodeInvalidRequest, http.StatusBadRequest)
	open, err := api.Settlements(ctx, client.SettlementFilter{Status: client.SettlementOpen})
	if err != nil || len(open.Data) != 1 {
		t.Fatalf("the open settlements are %+v, %v", open, err)
	}
	refuses(open.Data[0].ID, client.ReportPDF, client.CodeConflictState, http.StatusConflict)
}

func TestAPartOfAFileIsNotTakenForTheWhole(t *testing.T) {
	size := 1 << 10
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, size))
		if strings.HasSuffix(r.URL.Path, "/report") {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	api := newClient(t, client.Config{URL: server.URL, SecretKey: "sk"})
	if err := api.SettlementReport(t.Context(), "STL-1", client.ReportCSV, io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an incomplete report ended with %v, want io.ErrUnexpectedEOF", err)
	}
	if file, err := api.DownloadEvidence(t.Context(), "CLM-1", "ev_1"); err != nil || len(file) != size {
		t.Errorf("the file has %d bytes, %v, want %d", len(file), err, size)
	}
	size = 17 << 20
	if file, err := api.DownloadEvidence(t.Context(), "CLM-1", "ev_1"); err == nil {
		t.Errorf("a file of %d bytes was read as one of %d, want an error", size, len(file))
	}
}

func TestMovementsTellWhatMovedTheBalance(t *testing.T) {
	api, s := settled(t, 1)
	ctx := t.Context()
	page, err := api.Movements(ctx, client.Page{Limit: 2})
	if err != nil || len(page.Data) != 2 || page.Pagination.Total <= 2 {
		t.Fatalf("the page is %+v, %v, want two rows and more to come", page, err)
	}
	// The latest movement is the settlement's closing, which moved pending to available.
	for _, m := range page.Data {
		if m.Type != "settlement" || m.SettlementID != s.ID || m.TransactionID != "" || m.WithdrawalID != "" || m.CreatedAt.IsZero() ||
			m.Bucket == "available" && m.BalanceAfter != s.NetAmount || m.Bucket == "pending" && m.BalanceAfter != "0" {
			t.Errorf("the movement is %+v, want one by %s", m, s.ID)
		}
	}
	last, err := api.Movements(ctx, client.Page{Limit: 1, Offset: int(page.Pagination.Total) - 1})
	if err != nil || len(last.Data) != 1 || !strings.HasPrefix(last.Data[0].TransactionID, "TXN-") {
		t.Errorf("the oldest is %+v, %v, want one by the payment", last, err)
	}
	service, keys := service(t, nil)
	_, err = newClient(t, client.Config{URL: service.URL, PublishableKey: keys.Publishable}).Movements(ctx, client.Page{})
	refused(t, err, client.CodeKeyKindNotAllowed, http.StatusForbidden)
}

func TestTheTestClockIsTheSandboxs(t *testing.T) {
	s, keys := service(t, nil)
	ctx := t.Context()
	api := newClient(t, client.Config{URL: s.URL, SecretKey: keys.Secret})
	before, err := api.Clock(ctx)
	if err != nil || before.AdvanceSeconds != 0 || time.Since(before.Now).Abs() > time.Minute {
		t.Errorf("the clock is %+v, %v, want ours", before, err)
	}
	for _, by := range []time.Duration{time.Hour, 47*time.Hour + 90*time.Second} {
		if _, err := api.AdvanceClock(ctx, by); err != nil {
			t.Fatal(err)
		}
	}
	after, err := api.Clock(ctx)
	if err != nil || after.AdvanceSeconds != 48*3600+90 || after.Now.Before(before.Now.Add(48*time.Hour)) {
		t.Errorf("the clock is %+v, %v, want it two days ahead of %+v", after, err, before)
	}
	for _, by := range []time.Duration{0, -time.Hour, 6 * 366 * 24 * time.Hour} {
		_, err := api.AdvanceClock(ctx, by)
		if e := refused(t, err, client.CodeInvalidRequest, http.StatusBadRequest); e.Param != "advance" {
			t.Errorf("the error is %+v, want it about advance", e)
		}
	}
	live := newClient(t, client.Config{URL: s.URL, SecretKey: liveKey(t, s)})
	_, err = live.Clock(ctx)
	refused(t, err, client.CodeProductionKeyRefused, http.StatusBadRequest)
	_, err = live.AdvanceClock(ctx, time.Hour)
	refused(t, err, client.CodeProductionKeyRefused, http.StatusBadRequest)
}
