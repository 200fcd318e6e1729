package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// warnings are the codes of a merchant's ledger warnings.
func (s *server) warnings(key string) string {
	_, reply := s.call("GET", "/me/balance", key, "", nil)
	list, _ := reply["ledgerWarnings"].([]any)
	var codes []string
	for _, w := range list {
		warning, _ := w.(map[string]any)
		codes = append(codes, fmt.Sprintf("%s %v", text(warning, "code"), warning["amountUsd"]))
	}
	return strings.Join(codes, ", ")
}

// A person in the payment team compares a provider's report with the books, while
// the server runs.
func TestReportIsComparedWithTheBooks(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		upstream := providertest.NewUpstream(t, "key-1")
		upstream.Next("paid")
		u := plainly(t, database).with("KEY=key-1", "HUSH=hush")
		k := u.merchant(t, database)
		live := k.Keys.Production.Secret
		u.does(t, "fx", "set", "BRL", "5.4")
		u.does(t, "provider", "add", "plain", "--id", "bank", "--base-url", upstream.URL, "--price", "1%",
			"--credential", "apiKey=env:KEY", "--credential", "webhookSecret=env:HUSH")
		s := u.serve(t)
		_, first, _ := strings.Cut(s.pixes(live), " 201 ")
		if _, second, _ := strings.Cut(s.pixes(live), " 201 "); first == "" || second == "" {
			t.Fatalf("the payments are %q and %q", first, second)
		}
		if status, reply := s.call("POST", "/payments/"+first+"/refund", live, `{"amount":14}`, http.Header{"Idempotency-Key": {"r"}}); status != http.StatusOK {
			t.Fatalf("refund: %d %v", status, reply)
		}
		report := upstream.Report()
		period := []string{"--from", "2020-01-01", "--to", "2200-01-01", "--provider", "bank"}
		compare := func(report string, more ...string) (string, string, int) {
			args := append([]string{"reconcile", "--report", u.write(t, "november.csv", report)}, period...)
			return u.run(t, append(args, more...)...)
		}

		out, log, code := compare(report)
		if code != 0 || !strings.Contains(out, "2 charges, 108.00 BRL; 1 refunds, 14.00 BRL\n") || !strings.Contains(out, "the report and the books agree\n") ||
			!strings.Contains(out, "kept as  rec_") || !strings.Contains(out, "2020-01-01 00:00:00 to 2200-01-01 00:00:00 UTC") {
			t.Errorf("a clean report: exit %d\n%s%s", code, out, log)
		}
		if got := s.warnings(live); got != "" {
			t.Errorf("after a clean report: %s", got)
		}

		reference := strings.TrimPrefix(first, "TXN-") + "-1"
		wrong := strings.Replace(report, reference+",up-"+reference+",charge,54,", reference+",up-"+reference+",charge,64.80,", 1)
		out, log, code = compare(wrong, "--dry-run")
		if code != 1 || !strings.Contains(out, "amount  november.csv:2  "+first+"  reference "+reference) || !strings.Contains(out, "here 54.00 BRL  there 64.80 BRL") ||
			!strings.Contains(log, "1 differences") || strings.Contains(out, "kept as") {
			t.Errorf("another amount: exit %d\n%s%s", code, out, log)
		}
		if got := s.warnings(live); got != "" {
			t.Errorf("a dry run warned of %s", got)
		}
		out, log, code = compare(wrong, "--json")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		var finding, sum struct {
			Finding, TransactionID, AmountUSD, Reconciliation string
			Here, There                                       struct{ Amount, Currency string }
			Line, Differences, Charges                        int
			FeesExpected                                      []any
		}
		if len(lines) != 2 || json.Unmarshal([]byte(lines[0]), &finding) != nil || json.Unmarshal([]byte(lines[1]), &sum) != nil ||
			code != 1 || finding.TransactionID != first || finding.There.Amount != "64.8" || finding.AmountUSD != "2" || finding.Line != 2 ||
			sum.Differences != 1 || sum.Charges != 1 || !strings.HasPrefix(sum.Reconciliation, "rec_") {
			t.Errorf("reconcile --json: exit %d, %+v %+v\n%s%s", code, finding, sum, out, log)
		}
		if got := s.warnings(live); got != "provider_drift 2" {
			t.Errorf("the merchant is warned of %q", got)
		}
		if got := s.warnings(k.Keys.Sandbox.Secret); got != "" {
			t.Errorf("the sandbox is warned of %s", got)
		}
		// A clean comparison of a shorter period does not end the warning, one of the same period does.
		if _, log, code := compare(report, "--to", "2199-01-01"); code != 0 {
			t.Errorf("a narrower period: exit %d %s", code, log)
		}
		if got := s.warnings(live); got != "provider_drift 2" {
			t.Errorf("after a comparison of a shorter period, the merchant is warned of %q", got)
		}
		if _, log, code := compare(report); code != 0 {
			t.Errorf("the right report: exit %d %s", code, log)
		}
		if got := s.warnings(live); got != "" {
			t.Errorf("after a clean comparison, the merchant is warned of %q", got)
		}
		if out := u.does(t, "reconcile", "--list"); strings.Count(out, "rec_") != 4 || !strings.Contains(out, "1 amount 1") || !strings.Contains(out, "bank") {
			t.Errorf("reconcile --list:\n%s", out)
		}
		if out := u.does(t, "reconcile", "--list", "--json", "--provider", "nobody"); out != "" {
			t.Errorf("comparisons of an unknown account:\n%s", out)
		}
		if out := u.does(t, "audit", "list"); strings.Count(out, "provider.reconciled bank by operator") != 4 {
			t.Errorf("the audit log:\n%s", out)
		}

		// The same books, in another provider's format.
		other := "Relatório\n\nPedido;Tipo;Valor;Dia;Situação\n"
		for _, line := range strings.Split(strings.TrimSpace(report), "\n")[1:] {
			cells := strings.Split(line, ",")
			word := map[string]string{"charge": "Venda", "refund": "Estorno"}[cells[2]]
			other += cells[0] + ";" + word + ";" + cells[3] + ",00;30/11/2026;OK\n" + cells[0] + ";" + word + ";1,00;30/11/2026;CANCELADA\n"
		}
		out, log, code = compare(other, "--columns", "reference=pedido,type=Tipo,amount=Valor,date=Dia,status=Situação", "--types", "venda=charge,estorno=refund",
			"--paid", "ok", "--decimal", "comma", "--currency", "BRL", "--date-format", "DD/MM/YYYY", "--zone", "America/Sao_Paulo", "--dry-run")
		if code != 0 || !strings.Contains(out, "status CANCELADA 3") || !strings.Contains(out, "2020-01-01 03:00:00 to") {
			t.Errorf("another form: exit %d\n%s%s", code, out, log)
		}
		s.stop()
		u.check(t, database)
	})
}

func TestReconcileSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	u := plainly(t, "sqlite:c.db").with("KEY=key-1")
	u.does(t, "migrate")
	u.does(t, "provider", "add", "plain", "--id", "bank", "--credential", "apiKey=env:KEY", "--credential", "webhookSecret=env:KEY")
	good := u.write(t, "good.csv", "reference,amount,currency,date\nA-1,5,BRL,2026-11-21\n")
	undated := u.write(t, "undated.csv", "reference,amount,currency\nA-1,5,BRL\n")
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nothing":         {nil, 2, "--provider ACCOUNT --report FILE"},
		"no account":      {[]string{"--provider", "typo", "--report", good}, 2, "provider account typo: not found"},
		"no file":         {[]string{"--provider", "bank", "--report", "typo.csv"}, 2, "typo.csv"},
		"no dates":        {[]string{"--provider", "bank", "--report", undated}, 2, "has no column of dates: give its period"},
		"no dated line":   {[]string{"--provider", "bank", "--report", u.write(t, "none.csv", "reference,amount,currency,date\n")}, 2, "no line with a date"},
		"no such column":  {[]string{"--provider", "bank", "--report", good, "--columns", "reference=ref,amount=amount"}, 2, "has no column ref"},
		"no such word":    {[]string{"--provider", "bank", "--report", good, "--columns", "sum=amount"}, 2, `a report has no "sum"`},
		"no such kind":    {[]string{"--provider", "bank", "--report", good, "--types", "x=sale"}, 2, "not one of charge, refund"},
		"no such zone":    {[]string{"--provider", "bank", "--report", good, "--zone", "Mars"}, 2, "America/Sao_Paulo"},
		"no such day":     {[]string{"--provider", "bank", "--report", good, "--from", "yesterday"}, 2, "want a day"},
		"no such form":    {[]string{"--provider", "bank", "--report", good, "--date-format", "DD/MM"}, 2, "YYYY"},
		"no such money":   {[]string{"--provider", "bank", "--report", good, "--currency", "real"}, 2, "unknown currency"},
		"status alone":    {[]string{"--provider", "bank", "--report", good, "--paid", "OK"}, 2, "must be used together"},
		"backwards":       {[]string{"--provider", "bank", "--report", good, "--to", "2026-01-01"}, 2, "before it begins"},
		"all unreadable":  {[]string{"--provider", "bank", "--report", good, "--units", "minor", "--currency", "BRL", "--columns", "reference=amount,amount=reference,date=date"}, 2, "none of the 1 lines could be read"},
		"no such flag":    {[]string{"--provider", "bank", "--typo"}, 80, "unknown flag"},
		"nobody's charge": {[]string{"--provider", "bank", "--report", good}, 1, "1 differences"},
		"others'":         {[]string{"--provider", "bank", "--report", good, "--shared"}, 0, ""},
	} {
		out, log, code := u.run(t, append([]string{"reconcile"}, c.args...)...)
		if code != c.code || !strings.Contains(log, c.want) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", name, code, c.code, c.want, out, log)
		}
	}
	// Of all these, only the last two were comparisons.
	if out := u.does(t, "reconcile", "--list", "--json"); strings.Count(out, "\n") != 2 {
		t.Errorf("kept comparisons:\n%s", out)
	}
	out, log, code := u.pipe(t, "reference,amount,currency,date\n", "reconcile", "--provider", "bank", "--report", good, "--report", "-", "--dry-run")
	if code != 1 || !strings.Contains(out, "missing_here  good.csv:2") {
		t.Errorf("two files: exit %d\n%s%s", code, out, log)
	}
}
