package bankfile

// statuses are the status codes that decide nothing, and their meaning. ACSC is settled only at
// the payer's side. ISO's code set warns that it is no financial information and needs an agreement
// with the bank; Rabobank sends ACCC after it (developer.rabobank.nl, 2026), for LHV it is the last
// word (docs.lhv.com, 2026), and the British standard (Open Banking 4.0) says that the payee may
// still not get the money. So it is Paid only for an operator whose bank says so (Reader.ACSC).
var statuses = map[string]string{
	"RCVD": "received",
	"ACTC": "its form is right",
	"ACCP": "the payer's data are right",
	"ACSP": "accepted, in progress",
	"ACSC": "debited; it is not known whether it arrived",
	"ACWC": "accepted with a change",
	"ACWP": "at the payee's bank, not yet on the account",
	"ACFC": "accepted, and the funds are there",
	"ACIS": "accepted, and the payment order was made",
	"ACPD": "accepted, and passed on to clearing",
	"PDNG": "not decided yet",
	"PATC": "more signatures are needed",
	"PART": "some are accepted and some are not",
	"BLCK": "blocked at the payee's bank",
	// Verification of the payee, in the European Union since October 2025. The bank then waits for you.
	"RCVC": "the payee's name fits the account",
	"RVMC": "the payee's name nearly fits the account",
	"RVNM": "the payee's name does not fit the account",
	"RVNA": "the payee's name could not be compared with the account",
	"RVCM": "some payees' names do not fit their accounts",
	"RVNC": "the payees' names were not all compared with their accounts",
	"CANC": "cancelled by the bank's report: find out whether it was paid",
}

// verdict is the result of a status, and the reason for it.
func (rd Reader) verdict(status, code string) (outcome Outcome, reason, means string) {
	switch {
	case status == "ACCC":
		return Paid, "", "on the payee's account"
	case status == "ACSC" && code == "" && rd.ACSC == Paid:
		return Paid, "", "debited, which is this bank's last word"
	}
	switch status {
	case "RJCT":
		reason, means = explain(code)
		return Rejected, reason, means
	case "":
		return Pending, "", "the bank gives no status"
	}
	means, known := statuses[status]
	if !known {
		means = "the meaning of this status is not known"
	}
	if code != "" {
		_, more := explain(code)
		means += "; " + more
	}
	return Pending, "", status + ": " + means
}

// readPain002 reads a report on a file that we sent.
func (rd Reader) readPain002(body *node) ([]Answer, error) {
	groups := body.all("OrgnlGrpInfAndSts")
	if len(groups) != 1 {
		return nil, syntaxError(body.line, "want one OrgnlGrpInfAndSts, not %d", len(groups))
	}
	group := groups[0]
	if err := group.unique("OrgnlMsgId", "OrgnlNbOfTxs", "GrpSts"); err != nil {
		return nil, err
	}
	batch := shortText(group.value("OrgnlMsgId"), 35)
	switch batch {
	case "":
		return nil, syntaxError(group.line, "OrgnlMsgId is missing")
	case "EBICS":
		return nil, syntaxError(group.line, "this is a log of an upload (EBICS), not an answer to payments")
	}
	at, err := body.one("GrpHdr/CreDtTm").isoTime()
	if err != nil {
		return nil, err
	}
	p := pain002{Reader: rd, batch: batch, group: group, created: Answer{Batch: batch, At: at}}
	blocks := body.all("OrgnlPmtInfAndSts")
	for _, block := range blocks {
		if err := p.block(block); err != nil {
			return nil, err
		}
	}
	if err := p.within(group.one("OrgnlNbOfTxs"), p.lines); err != nil {
		return nil, err
	}
	p.overall(group, "GrpSts", group.all("StsRsnInf"), p.lines == 0 && len(p.answers) == 0)
	return p.answers, nil
}

// pain002 is a report while it is read.
type pain002 struct {
	Reader
	batch   string
	group   *node
	created Answer // the common part of all answers
	lines   int
	answers []Answer
}

// within tells the operator if a report has more transactions than it counts. Each of them
// counts all the same. Fewer are usual: some banks name only those that failed.
func (pa *pain002) within(told *node, lines int) error {
	most, is, err := told.count()
	if err == nil && is && lines > most {
		pa.answers = append(pa.answers, notice(told.line, "%s is %d, and %d transactions follow: compare it with the bank's site", told.name, most, lines))
	}
	return err
}

// overall adds the answer for all lines of a file or a block: if they are refused together,
// or if no line is reported.
func (pa *pain002) overall(n *node, element string, infos []*node, silent bool) {
	status := shortText(n.value(element), 35)
	code, text := why(infos)
	a := pa.created
	a.Outcome, a.Reason, a.Message = pa.verdict(status, code)
	if a.Outcome == Paid {
		a.Outcome, a.Message = Pending, "the bank reports the whole file as paid, but names no lines"
	}
	if a.Outcome != Rejected && !silent {
		return
	}
	if a.Code = status; code != "" {
		a.Code = code
	}
	a.Whole, a.Text, a.Line = true, text, n.line
	pa.answers = append(pa.answers, a)
}

func (pa *pain002) block(block *node) error {
	if err := block.unique("OrgnlPmtInfId", "OrgnlNbOfTxs", "PmtInfSts"); err != nil {
		return err
	}
	transactions := block.all("TxInfAndSts")
	if err := pa.within(block.one("OrgnlNbOfTxs"), len(transactions)); err != nil {
		return err
	}
	counts := map[string]int{}
	for _, t := range transactions {
		if err := pa.transaction(block, t); err != nil {
			return err
		}
		counts[t.value("TxSts")]++
	}
	for _, per := range block.all("NbOfTxsPerSts") {
		if err := pa.within(per.one("DtldNbOfTxs"), counts[per.value("DtldSts")]); err != nil {
			return err
		}
	}
	pa.lines += len(transactions)
	pa.overall(block, "PmtInfSts", block.all("StsRsnInf"), len(transactions) == 0 && block.value("PmtInfSts") != "")
	return nil
}

func (pa *pain002) transaction(block, t *node) error {
	if err := t.unique("OrgnlEndToEndId", "OrgnlInstrId", "TxSts", "AcctSvcrRef"); err != nil {
		return err
	}
	status, refused := shortText(t.value("TxSts"), 35), pa.group.value("GrpSts") == "RJCT" || block.value("PmtInfSts") == "RJCT"
	if status == "" && refused {
		status = "RJCT"
	}
	infos := t.all("StsRsnInf")
	if len(infos) == 0 && status == "RJCT" {
		infos = append(block.all("StsRsnInf"), pa.group.all("StsRsnInf")...)
	}
	code, text := why(infos)
	a := pa.created
	a.Reference, a.Line, a.Text = reference(t.value("OrgnlEndToEndId"), t.value("OrgnlInstrId")), t.line, text
	a.BankReference = shortText(t.value("AcctSvcrRef", "ClrSysRef"), 35)
	if a.Outcome, a.Reason, a.Message = pa.verdict(status, code); refused && a.Outcome != Rejected {
		a.Outcome, a.Reason, a.Message = Pending, "", "the file is refused, but this line is not: ask the bank"
	}
	if a.Code = status; code != "" {
		a.Code = code
	}
	accepted, err := t.one("AccptncDtTm").isoTime()
	if err != nil {
		return err
	}
	if !accepted.IsZero() {
		a.At = accepted
	}
	if a.Amount, err = t.one("OrgnlTxRef/Amt/InstdAmt").amount(); err != nil {
		return err
	}
	pa.answers = append(pa.answers, a)
	return nil
}
