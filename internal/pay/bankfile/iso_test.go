package bankfile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestReportOfPain002(t *testing.T) {
	file := golden(t, "pain.002.03.xml")
	want := []string{
		"16 B17L00001 pending 2026-10-15 [ACSP]",
		"21 B17L00002 rejected 2026-10-15 invalid_account [AC01]",
		"26 B17L00003 pending 12.50 EUR 2026-10-15 SVC-3 [ACSC]",
		"34 B17L00004 paid 2026-10-15 [ACCC]",
	}
	for _, version := range []string{"03", "04", "10"} {
		answers, err := Read(FormatPain002, bytes.Replace(file, []byte("pain.002.001.03"), []byte("pain.002.001."+version), 1))
		if err != nil {
			t.Fatal(err)
		}
		sameAnswers(t, version, answers, want...)
		if answers[1].Text != "Account unknown" || answers[1].Batch != "B17-1" || !strings.Contains(answers[1].Message, "number is wrong") {
			t.Errorf("%+v", answers[1])
		}
	}
	swiss := bytes.Replace(file, []byte("urn:iso:std:iso:20022:tech:xsd:pain.002.001.03"), []byte("http://www.six-interbank-clearing.com/de/pain.002.001.03.ch.02.xsd"), 1)
	if answers, err := Read(FormatPain002, swiss); err != nil || len(answers) != 4 {
		t.Errorf("the Swiss namespace: %v", err)
	}
	if format, err := Detect(append([]byte("\ufeff"), file...)); err != nil || format != FormatPain002 {
		t.Errorf("%s, %v", format, err)
	}
}

// report is a pain.002 with a group, a block and one transaction.
func report(group, block, transaction string) []byte {
	return fmt.Appendf(nil, `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.03"><CstmrPmtStsRpt><GrpHdr/>`+
		`<OrgnlGrpInfAndSts><OrgnlMsgId>B1</OrgnlMsgId>%s</OrgnlGrpInfAndSts>%s</CstmrPmtStsRpt></Document>`,
		group, map[bool]string{true: "<OrgnlPmtInfAndSts>" + block + transaction + "</OrgnlPmtInfAndSts>"}[block+transaction != ""])
}

func line002(inside string) string {
	return "<TxInfAndSts><OrgnlEndToEndId>R1</OrgnlEndToEndId>" + inside + "</TxInfAndSts>"
}

func TestStatuses(t *testing.T) {
	reason := func(code string) string { return "<StsRsnInf><Rsn><Cd>" + code + "</Cd></Rsn></StsRsnInf>" }
	for name, c := range map[string]struct {
		group, block, line string
		want               []string
	}{
		"closed":            {"", "", line002("<TxSts>RJCT</TxSts>" + reason("AC04")), []string{"1 R1 rejected account_closed [AC04]"}},
		"limit":             {"", "", line002("<TxSts>RJCT</TxSts>" + reason("AM02")), []string{"1 R1 rejected limit_exceeded [AM02]"}},
		"law":               {"", "", line002("<TxSts>RJCT</TxSts>" + reason("RR04")), []string{"1 R1 rejected compliance_rejected [RR04]"}},
		"other reason":      {"", "", line002("<TxSts>RJCT</TxSts>" + reason("XX99")), []string{"1 R1 rejected rejected [XX99]"}},
		"no reason":         {"", "", line002("<TxSts>RJCT</TxSts>"), []string{"1 R1 rejected rejected [RJCT]"}},
		"the bank's own":    {"", "", line002("<TxSts>RJCT</TxSts><StsRsnInf><Rsn><Prtry>77</Prtry></Rsn></StsRsnInf>"), []string{"1 R1 rejected rejected [77]"}},
		"cancelled":         {"", "", line002("<TxSts>CANC</TxSts>"), []string{"1 R1 pending [CANC]"}},
		"unknown":           {"", "", line002("<TxSts>DONE</TxSts>"), []string{"1 R1 pending [DONE]"}},
		"date changed":      {"", "", line002("<TxSts>ACWC</TxSts>" + reason("DT06")), []string{"1 R1 pending [DT06]"}},
		"name compared":     {"", "", line002("<TxSts>RVNM</TxSts>"), []string{"1 R1 pending [RVNM]"}},
		"nothing said":      {"", "", line002(""), []string{"1 R1 pending []"}},
		"no reference":      {"", "", "<TxInfAndSts><TxSts>RJCT</TxSts></TxInfAndSts>", []string{"1 rejected rejected [RJCT]"}},
		"whole file":        {"<GrpSts>RJCT</GrpSts>" + reason("FF01"), "", "", []string{"1 whole B1 rejected rejected [FF01]"}},
		"file taken":        {"<GrpSts>ACCP</GrpSts>", "", "", []string{"1 whole B1 pending [ACCP]"}},
		"file paid":         {"<GrpSts>ACCC</GrpSts>", "", "", []string{"1 whole B1 pending [ACCC]"}},
		"file without word": {"", "", "", []string{"1 whole B1 pending []"}},
		"block refused":     {"", "<PmtInfSts>RJCT</PmtInfSts>" + reason("AM04"), "", []string{"1 whole B1 rejected rejected [AM04]"}},
		"block going on":    {"", "<PmtInfSts>ACSP</PmtInfSts>", "", []string{"1 whole B1 pending [ACSP]"}},
		"line of a refused block": {"", "<PmtInfSts>RJCT</PmtInfSts>" + reason("AC04"), line002(""),
			[]string{"1 R1 rejected account_closed [AC04]", "1 whole B1 rejected account_closed [AC04]"}},
		"contradiction": {"<GrpSts>RJCT</GrpSts>", "", line002("<TxSts>ACCC</TxSts>"), []string{"1 R1 pending [ACCC]", "1 whole B1 rejected rejected [RJCT]"}},
		"twice":         {"", "", line002("<TxSts>ACCC</TxSts>") + line002("<TxSts>RJCT</TxSts>"), []string{"1 R1 pending [ACCC]", "1 R1 pending [RJCT]"}},
	} {
		answers, err := Read(FormatPain002, report(c.group, c.block, c.line))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameAnswers(t, name, answers, c.want...)
	}
}

// A report that counts fewer transactions than it has is read, and the operator is told.
func TestCountsOfPain002(t *testing.T) {
	pain := string(golden(t, "pain.002.03.xml"))
	all, err := Read(FormatPain002, []byte(pain))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, by, want string }{
		"of the file":  {"<OrgnlNbOfTxs>4", "<OrgnlNbOfTxs>3", "8 OrgnlNbOfTxs is 3, and 4 transactions follow"},
		"of a block":   {"<OrgnlNbOfTxs>4</OrgnlNbOfTxs>\n      <PmtInfSts>", "<OrgnlNbOfTxs>3</OrgnlNbOfTxs>\n      <PmtInfSts>", "13 OrgnlNbOfTxs is 3, and 4 transactions follow"},
		"of a status":  {"<DtldNbOfTxs>2", "<DtldNbOfTxs>0", "15 DtldNbOfTxs is 0, and 1 transactions follow"},
		"more is fine": {"<OrgnlNbOfTxs>4", "<OrgnlNbOfTxs>9", ""},
	} {
		file := strings.Replace(pain, c.old, c.by, 1)
		if file == pain {
			t.Fatalf("%s: no %q", name, c.old)
		}
		answers, err := Read(FormatPain002, []byte(file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var notices []string
		answers = slices.DeleteFunc(answers, func(a Answer) bool {
			if a.Notice != "" {
				notices = append(notices, fmt.Sprint(a.Line, " ", a.Notice))
			}
			return a.Notice != ""
		})
		if got := strings.Join(notices, "; "); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if !slices.Equal(answers, all) {
			t.Errorf("%s: %+v, want %+v", name, answers, all)
		}
	}
}

// ACSC ends a payment only if the bank is known to mean it so.
func TestDebitedIsPaidWhereTheBankSaysSo(t *testing.T) {
	const back = "<StsRsnInf><Rsn><Cd>AC04</Cd></Rsn></StsRsnInf>"
	debited := line002("<TxSts>ACSC</TxSts>")
	for name, c := range map[string]struct {
		reader Reader
		file   []byte
		want   []string
	}{
		"by the standard":  {Reader{}, report("", "", debited), []string{"1 R1 pending [ACSC]"}},
		"by the bank":      {Reader{ACSC: Paid}, report("", "", debited), []string{"1 R1 paid [ACSC]"}},
		"with a reason":    {Reader{ACSC: Paid}, report("", "", line002("<TxSts>ACSC</TxSts>"+back)), []string{"1 R1 pending [AC04]"}},
		"and refused":      {Reader{ACSC: Paid}, report("", "", debited+line002("<TxSts>RJCT</TxSts>")), []string{"1 R1 pending [ACSC]", "1 R1 pending [RJCT]"}},
		"of a refused one": {Reader{ACSC: Paid}, report("<GrpSts>RJCT</GrpSts>", "", debited), []string{"1 R1 pending [ACSC]", "1 whole B1 rejected rejected [RJCT]"}},
		"of all lines":     {Reader{ACSC: Paid}, report("<GrpSts>ACSC</GrpSts>", "", ""), []string{"1 whole B1 pending [ACSC]"}},
		"other statuses":   {Reader{ACSC: Paid}, report("", "", line002("<TxSts>ACSP</TxSts>")), []string{"1 R1 pending [ACSP]"}},
	} {
		answers, err := c.reader.Read(FormatPain002, c.file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameAnswers(t, name, answers, c.want...)
	}
}

func TestXMLThatIsRefused(t *testing.T) {
	pain := string(golden(t, "pain.002.03.xml"))
	camt := string(golden(t, "camt.054.02.xml"))
	swap := func(file, old, by string) string {
		if !strings.Contains(file, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(file, old, by, 1)
	}
	for name, c := range map[string]struct {
		format     Format
		file, want string
	}{
		"empty":           {FormatPain002, "", "the file has no element"},
		"cut off":         {FormatPain002, pain[:len(pain)-20], "line 39: the XML is broken"},
		"not closed":      {FormatPain002, swap(pain, "</TxSts>", ""), "line"},
		"document type":   {FormatPain002, swap(pain, "<Document", `<!DOCTYPE x [<!ENTITY a "b">]><Document`), "line 2: a document type"},
		"entity":          {FormatPain002, swap(pain, "ACSP", "&a;"), "line 19: the XML is broken"},
		"second root":     {FormatPain002, pain + "<a/>", "line"},
		"text behind":     {FormatPain002, pain + "a", "line 41: there is text outside"},
		"encoding":        {FormatPain002, swap(pain, "UTF-8", "UTF-16"), "line 1: the XML cannot be read"},
		"no UTF-8":        {FormatPain002, swap(pain, "unknown", "\xe4"), "line 24: the XML is broken"},
		"depth":           {FormatPain002, strings.Repeat("<a>", 50) + strings.Repeat("</a>", 50), "line 1: the elements are nested"},
		"elements":        {FormatPain002, "<a>" + strings.Repeat("<b/>", elements) + "</a>", "line 1: there are more than"},
		"pieces":          {FormatPain002, "<a>" + strings.Repeat("xxxxxxxx<!-- -->", 600) + "</a>", "line 1: the text of a"},
		"other root":      {FormatPain002, "<html/>", "line 1: the root must be"},
		"other message":   {FormatPain002, `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt/></Document>`, `line 1: the message "BkToCstmrStmt"`},
		"no namespace":    {FormatPain002, swap(pain, ` xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.03"`, ""), "line 2: the namespace"},
		"wrong namespace": {FormatPain002, swap(pain, "pain.002.001.03", "camt.054.001.03"), "line 2: the namespace"},
		"old version":     {FormatPain002, swap(pain, "pain.002.001.03", "pain.002.001.02"), "line 2: pain.002 is read in versions 03 to 10, not 02"},
		"new version":     {FormatCamt054, swap(camt, "camt.054.001.02", "camt.054.001.09"), "line 2: camt.054 is read in versions 02 to 08, not 09"},
		"other format":    {FormatCamt054, pain, "the file is pain.002, not camt.054"},
		"too large":       {FormatPain002, pain + strings.Repeat(" ", MaxSize), "the file is larger"},

		"no message":   {FormatPain002, swap(pain, "<OrgnlMsgId>B17-1</OrgnlMsgId>", ""), "line 5: OrgnlMsgId is missing"},
		"no group":     {FormatPain002, strings.ReplaceAll(pain, "OrgnlGrpInfAndSts", "Orgnl"), "line 3: want one OrgnlGrpInfAndSts"},
		"log":          {FormatPain002, swap(pain, "B17-1<", "EBICS<"), "line 5: this is a log"},
		"no count":     {FormatPain002, swap(pain, "<OrgnlNbOfTxs>4", "<OrgnlNbOfTxs>x"), "line 8: OrgnlNbOfTxs is not a count"},
		"two statuses": {FormatPain002, swap(pain, "<TxSts>RJCT</TxSts>", "<TxSts>RJCT</TxSts><TxSts>ACCC</TxSts>"), "line 23: TxSts occurs twice"},
		"date":         {FormatPain002, swap(pain, "2026-10-15T10:02:00", "15.10.2026"), "line 4: CreDtTm is not a date"},
		"amount":       {FormatPain002, swap(pain, "12.50", "12,50"), "line 32: InstdAmt is not an amount"},
		"decimals":     {FormatPain002, swap(pain, "12.50", "12.505"), "line 32: InstdAmt does not fit EUR"},
		"currency":     {FormatPain002, swap(pain, `Ccy="EUR"`, `Ccy="EURO"`), "line 32: the currency"},

		"entry's amount": {FormatCamt054, swap(camt, `<Amt Ccy="EUR">2500.00</Amt>`, ""), "line 25: Amt is missing"},
		"below zero":     {FormatCamt054, swap(camt, ">2500.00<", ">-2500.00<"), "line 26: Amt is not an amount"},
		"direction":      {FormatCamt054, swap(camt, "CRDT", "CREDIT"), "line 27: CdtDbtInd is neither"},
		"no direction":   {FormatCamt054, swap(camt, "<CdtDbtInd>CRDT</CdtDbtInd>", ""), "line 25: CdtDbtInd is missing"},
		"reversal":       {FormatCamt054, swap(camt, "<Sts>", "<RvslInd>maybe</RvslInd><Sts>"), "line 13: RvslInd is neither"},
		"two details":    {FormatCamt054, swap(camt, "<Refs>", "<Refs></Refs><Refs>"), "line 21: Refs occurs twice"},
		"booking date":   {FormatCamt054, swap(camt, "2026-10-16</Dt>", "16/10/2026</Dt>"), "line 17: Dt is not a date"},
		"entries":        {FormatCamt054, swap(camt, "<NbOfNtries>4", "<NbOfNtries>5"), "line 10: NbOfNtries of TtlNtries is 5"},
		"debits":         {FormatCamt054, swap(camt, "<NbOfNtries>2", "<NbOfNtries>1"), "line 11: NbOfNtries of TtlDbtNtries is 1"},
		"sum":            {FormatCamt054, swap(camt, "<Sum>223.45", "<Sum>223.46"), "line 11: Sum of TtlDbtNtries is 223.46 EUR"},
	} {
		answers, err := Read(c.format, []byte(c.file))
		if answers != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, file := range []string{"", "reference,status\n", strings.Repeat("1", 240) + "\n", "<a", string(make([]byte, MaxSize+1))} {
		if format, err := Detect([]byte(file)); err == nil {
			t.Errorf("%.20q is %s", file, format)
		}
	}
	if _, err := Read("mt940", nil); err == nil {
		t.Error("a format is read that there is not")
	}
}

func TestLatin1Answers(t *testing.T) {
	for _, name := range []string{"ISO-8859-1", "windows-1252"} {
		file := strings.Replace(string(golden(t, "pain.002.03.xml")), "UTF-8", name, 1)
		answers, err := Read(FormatPain002, []byte(strings.Replace(file, "Account unknown", "Konto ung\xfcltig", 1)))
		if err != nil || answers[1].Text != "Konto ungültig" {
			t.Errorf("%s: %+v, %v", name, answers, err)
		}
	}
}

func FuzzPain002(f *testing.F) {
	f.Add(golden(f, "pain.002.03.xml"))
	f.Add(report("<GrpSts>RJCT</GrpSts>", "<PmtInfSts>RJCT</PmtInfSts>", line002("")))
	f.Fuzz(func(t *testing.T, file []byte) { readable(t, FormatPain002, file) })
}
