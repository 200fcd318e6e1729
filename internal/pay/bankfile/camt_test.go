package bankfile

import (
	"fmt"
	"strings"
	"testing"
)

func TestBookingsOfCamt054(t *testing.T) {
	for _, name := range []string{"camt.054.02.xml", "camt.054.08.xml"} {
		answers, err := Read(FormatCamt054, golden(t, name))
		if err != nil {
			t.Fatal(err)
		}
		sameAnswers(t, name, answers,
			"20 B17L00001 paid 123.45 EUR 2026-10-16 BK20261016-1 [BOOK]",
			"31 B17L00002 returned 2500.00 EUR 2026-10-17 account_closed [AC04]",
			"43 whole B18 pending 100.00 EUR 2026-10-17 [BOOK]",
		)
		if answers[0].Batch != "B17-1" || answers[1].Text != "Konto erloschen" {
			t.Errorf("%+v", answers)
		}
		if format, err := Detect(golden(t, name)); err != nil || format != FormatCamt054 {
			t.Errorf("%s, %v", format, err)
		}
	}
}

// booking is a camt.054 with one entry.
func booking(direction, status, more, details string) []byte {
	return fmt.Appendf(nil, `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.054.001.08"><BkToCstmrDbtCdtNtfctn><GrpHdr/><Ntfctn>`+
		`<Ntry><Amt Ccy="EUR">10.00</Amt><CdtDbtInd>%s</CdtDbtInd>%s<Sts>%s</Sts><NtryDtls>%s</NtryDtls></Ntry>`+
		`</Ntfctn></BkToCstmrDbtCdtNtfctn></Document>`, direction, more, status, details)
}

func detail(reference, more string) string {
	return "<TxDtls><Refs><EndToEndId>" + reference + "</EndToEndId></Refs>" + more + "</TxDtls>"
}

func counted(transactions int) string {
	return fmt.Sprintf("<Btch><NbOfTxs>%d</NbOfTxs></Btch>", transactions)
}

func TestEntries(t *testing.T) {
	const book, back, reversed = "<Cd>BOOK</Cd>", "<RtrInf><Rsn><Cd>AC01</Cd></Rsn></RtrInf>", "<RvslInd>true</RvslInd>"
	const rrtn = "<BkTxCd><Domn><Fmly><SubFmlyCd>RRTN</SubFmlyCd></Fmly></Domn></BkTxCd>"
	five := `<Amt Ccy="EUR">5.00</Amt>`
	for name, c := range map[string]struct {
		direction, status, more, details string
		want                             []string
	}{
		"paid":                 {"DBIT", book, "", detail("R1", ""), []string{"1 R1 paid 10.00 EUR [BOOK]"}},
		"not booked":           {"DBIT", "<Cd>PDNG</Cd>", "", detail("R1", ""), []string{"1 R1 pending 10.00 EUR [PDNG]"}},
		"the bank's status":    {"DBIT", "<Prtry>BOOK</Prtry>", "", detail("R1", ""), []string{"1 R1 pending 10.00 EUR []"}},
		"no reference":         {"DBIT", book, "", detail("NOTPROVIDED", ""), []string{"1 pending 10.00 EUR [BOOK]"}},
		"given back":           {"CRDT", book, "", detail("R1", back), []string{"1 R1 returned 10.00 EUR invalid_account [AC01]"}},
		"no reason":            {"CRDT", book, "", detail("R1", "<RtrInf></RtrInf>"), []string{"1 R1 returned 10.00 EUR rejected [BOOK]"}},
		"reversed":             {"CRDT", book, reversed, detail("R1", ""), []string{"1 R1 returned 10.00 EUR rejected [BOOK]"}},
		"given back, pending":  {"CRDT", "<Cd>PDNG</Cd>", "", detail("R1", back), []string{"1 R1 pending 10.00 EUR [PDNG]"}},
		"looks like a return":  {"CRDT", book, rrtn, detail("R1", ""), []string{"1 R1 pending 10.00 EUR [BOOK]"}},
		"somebody's payment":   {"CRDT", book, "", detail("R1", ""), nil},
		"debit that takes":     {"DBIT", book, "", detail("R1", back), []string{"1 R1 pending 10.00 EUR [BOOK]"}},
		"debit of a reversal":  {"DBIT", book, reversed, detail("R1", ""), []string{"1 R1 pending 10.00 EUR [BOOK]"}},
		"other direction":      {"DBIT", book, "", detail("R1", "<CdtDbtInd>CRDT</CdtDbtInd>"+back), []string{"1 R1 pending 10.00 EUR [BOOK]"}},
		"two":                  {"DBIT", book, "", detail("R1", five) + detail("R2", five), []string{"1 R1 paid 5.00 EUR [BOOK]", "1 R2 paid 5.00 EUR [BOOK]"}},
		"sum differs":          {"DBIT", book, "", detail("R1", five) + detail("R2", `<Amt Ccy="EUR">4.00</Amt>`), []string{"1 R1 pending 5.00 EUR [BOOK]", "1 R2 pending 4.00 EUR [BOOK]", "1 notice"}},
		"amounts not told":     {"DBIT", book, "", detail("R1", "") + detail("R2", ""), []string{"1 R1 paid [BOOK]", "1 R2 paid [BOOK]"}},
		"more than counted":    {"DBIT", book, "", counted(1) + detail("R1", five) + detail("R2", five), []string{"1 R1 paid 5.00 EUR [BOOK]", "1 R2 paid 5.00 EUR [BOOK]"}},
		"none counted":         {"DBIT", book, "", counted(0) + detail("R1", five) + detail("R2", five), []string{"1 R1 paid 5.00 EUR [BOOK]", "1 R2 paid 5.00 EUR [BOOK]"}},
		"more, not told":       {"DBIT", book, "", counted(1) + detail("R1", "") + detail("R2", ""), []string{"1 R1 pending [BOOK]", "1 R2 pending [BOOK]", "1 notice"}},
		"fewer, not told":      {"DBIT", book, "", counted(3) + detail("R1", "") + detail("R2", ""), []string{"1 R1 paid [BOOK]", "1 R2 paid [BOOK]", "1 notice"}},
		"fewer, sum differs":   {"DBIT", book, "", counted(3) + detail("R1", five) + detail("R2", `<Amt Ccy="EUR">4.00</Amt>`), []string{"1 R1 pending 5.00 EUR [BOOK]", "1 R2 pending 4.00 EUR [BOOK]", "1 notice"}},
		"returns, one missing": {"CRDT", book, "", counted(2) + detail("R1", five+back), []string{"1 R1 pending 5.00 EUR [AC01]", "1 notice"}},
		"credits, one missing": {"CRDT", book, "", counted(2) + detail("R1", five), []string{"1 notice"}},
		"credits in one sum":   {"CRDT", book, "", counted(2), nil},
		"fee without details":  {"DBIT", book, "", "", nil},
		"batch in one booking": {"DBIT", book, "", "<Btch><MsgId>B1</MsgId></Btch>", []string{"1 whole B1 pending 10.00 EUR [BOOK]"}},
	} {
		answers, err := Read(FormatCamt054, booking(c.direction, c.status, c.more, c.details))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameAnswers(t, name, answers, c.want...)
	}
}

// Totals of a message in pages are of all pages.
func TestPagesAreNotAddedUp(t *testing.T) {
	file := strings.Replace(string(golden(t, "camt.054.02.xml")), "<NbOfNtries>4", "<NbOfNtries>40", 1)
	file = strings.Replace(file, "</GrpHdr>", "<MsgPgntn><PgNb>1</PgNb><LastPgInd>false</LastPgInd></MsgPgntn></GrpHdr>", 1)
	if answers, err := Read(FormatCamt054, []byte(file)); err != nil || len(answers) != 3 {
		t.Errorf("%v, %v", answers, err)
	}
}

// What we write comes back as paid when the bank books it.
func TestRoundTripOfISO(t *testing.T) {
	lines := ibanLines()
	for _, name := range []string{"pain.001.03", "pain.001.09"} {
		file, err := layout(t, name).Write(batch("B17-1", "EUR", europePayer()), lines)
		if err != nil {
			t.Fatal(err)
		}
		root, err := parseXML(file)
		if err != nil {
			t.Fatal(err)
		}
		var entries strings.Builder
		for _, sent := range root.all("CstmrCdtTrfInitn/PmtInf/CdtTrfTxInf") {
			amount := sent.one("Amt/InstdAmt")
			fmt.Fprintf(&entries, `<Ntry><Amt Ccy="%s">%s</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts><NtryDtls>%s</NtryDtls></Ntry>`,
				amount.currency, amount.text, detail(sent.value("PmtId/EndToEndId"), ""))
		}
		answers, err := Read(FormatCamt054, []byte(`<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.054.001.02"><BkToCstmrDbtCdtNtfctn><Ntfctn>`+
			entries.String()+`</Ntfctn></BkToCstmrDbtCdtNtfctn></Document>`))
		if err != nil || len(answers) != len(lines) {
			t.Fatalf("%v, %v", answers, err)
		}
		for i, a := range answers {
			if a.Reference != lines[i].Reference || a.Amount != lines[i].Amount || a.Outcome != Paid {
				t.Errorf("%+v, want %+v", a, lines[i])
			}
		}
	}
}

func FuzzCamt054(f *testing.F) {
	f.Add(golden(f, "camt.054.02.xml"))
	f.Add(golden(f, "camt.054.08.xml"))
	f.Add(booking("CRDT", "BOOK", "<RvslInd>true</RvslInd>", detail("R1", "")))
	f.Fuzz(func(t *testing.T, file []byte) { readable(t, FormatCamt054, file) })
}
