package bankfile

// statuses are the status codes that decide nothing, and their meaning. ACSC is settled
// only at the payer's side, which does not prove that the money arrived.
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
	"CANC": "cancelled by the bank's report: find out whether it was paid",
}

// verdict is the result of a status, and the reason for it.
func verdict(status, code string) (outcome Outcome, reason, means string) {
	switch status {
	case "ACCC":
		return Paid, "", "on the payee's account"
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
func readPain002(body *node) ([]Answer, error) {
	groups := body.all("OrgnlGrpInfAndSts")
	if len(groups) != 1 {
		return nil, fault(body.line, "want one OrgnlGrpInfAndSts, not %d", len(groups))
	}
	group := groups[0]
	if err := group.unique("OrgnlMsgId", "OrgnlNbOfTxs", "GrpSts"); err != nil {
		return nil, err
	}
	batch := told(group.value("OrgnlMsgId"), 35)
	switch batch {
	case "":
		return nil, fault(group.line, "OrgnlMsgId is missing")
	case "EBICS":
		return nil, fault(group.line, "this is a log of an upload (EBICS), not an answer to payments")
	}
	at, err := body.one("GrpHdr/CreDtTm").isoTime()
	if err != nil {
		return nil, err
	}
	p := pain002{batch: batch, group: group, created: Answer{Batch: batch, At: at}}
	blocks := body.all("OrgnlPmtInfAndSts")
	for _, block := range blocks {
		if err := p.block(block); err != nil {
			return nil, err
		}
	}
	if err := within(group.one("OrgnlNbOfTxs"), p.lines); err != nil {
		return nil, err
	}
	p.overall(group, "GrpSts", group.all("StsRsnInf"), p.lines == 0 && len(p.answers) == 0)
	return p.answers, nil
}

// pain002 is a report while it is read.
type pain002 struct {
	batch   string
	group   *node
	created Answer // the common part of all answers
	lines   int
	answers []Answer
}

// within fails if a report has more transactions than the file. Fewer are fine: some banks
// name only those that failed.
func within(told *node, lines int) error {
	if most, is, err := told.count(); err != nil {
		return err
	} else if is && lines > most {
		return fault(told.line, "%s is %d, and %d transactions follow", told.name, most, lines)
	}
	return nil
}

// overall adds the answer for all lines of a file or a block: if they are refused together,
// or if no line is reported.
func (p *pain002) overall(n *node, element string, infos []*node, silent bool) {
	status := told(n.value(element), 35)
	code, text := why(infos)
	a := p.created
	a.Outcome, a.Reason, a.Message = verdict(status, code)
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
	p.answers = append(p.answers, a)
}

func (p *pain002) block(block *node) error {
	if err := block.unique("OrgnlPmtInfId", "OrgnlNbOfTxs", "PmtInfSts"); err != nil {
		return err
	}
	transactions := block.all("TxInfAndSts")
	if err := within(block.one("OrgnlNbOfTxs"), len(transactions)); err != nil {
		return err
	}
	counts := map[string]int{}
	for _, t := range transactions {
		if err := p.transaction(block, t); err != nil {
			return err
		}
		counts[t.value("TxSts")]++
	}
	for _, per := range block.all("NbOfTxsPerSts") {
		if err := within(per.one("DtldNbOfTxs"), counts[per.value("DtldSts")]); err != nil {
			return err
		}
	}
	p.lines += len(transactions)
	p.overall(block, "PmtInfSts", block.all("StsRsnInf"), len(transactions) == 0 && block.value("PmtInfSts") != "")
	return nil
}

func (p *pain002) transaction(block, t *node) error {
	if err := t.unique("OrgnlEndToEndId", "OrgnlInstrId", "TxSts", "AcctSvcrRef"); err != nil {
		return err
	}
	status, refused := told(t.value("TxSts"), 35), p.group.value("GrpSts") == "RJCT" || block.value("PmtInfSts") == "RJCT"
	if status == "" && refused {
		status = "RJCT"
	}
	infos := t.all("StsRsnInf")
	if len(infos) == 0 && status == "RJCT" {
		infos = append(block.all("StsRsnInf"), p.group.all("StsRsnInf")...)
	}
	code, text := why(infos)
	a := p.created
	a.Reference, a.Line, a.Text = reference(t.value("OrgnlEndToEndId"), t.value("OrgnlInstrId")), t.line, text
	a.BankReference = told(t.value("AcctSvcrRef", "ClrSysRef"), 35)
	if a.Outcome, a.Reason, a.Message = verdict(status, code); refused && a.Outcome != Rejected {
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
	p.answers = append(p.answers, a)
	return nil
}
