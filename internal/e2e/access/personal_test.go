package access

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
)

// Personal data that must not be readable in a copy of the database.
const (
	saidWords = "Ana Clarity of 12 Rose Lane signed for it"
	fileName  = "passport of Ana Clarity.txt"
	fileWords = "Ana Clarity, born 1980, passport X1234567, lives in Rose Lane"
	payerName = "Benedita Clarity"
	payerMail = "benedita.clarity@mail.example"
	noteWords = "Benedita Clarity was paid back by hand"
)

// persons is a shop whose evidence, notifications and events name shoppers.
type persons struct {
	harness.Client
	claim, evidence, cash, receipt string
	hook                           harness.Subscribed
}

// told makes evidence, notifications and events that name shoppers.
func told(t *testing.T, s *harness.Instance) persons {
	t.Helper()
	o := s.NewShop(t)
	p := persons{Client: o, hook: harness.Inbox(t, o, `"*"`)}
	payment, claim := o.Dispute(t, true)
	path := "/claims/" + claim + "/evidence"
	o.Post(t, path, `{"kind":"note","text":"`+saidWords+`"}`).Want(t, http.StatusCreated)
	p.claim = claim
	p.evidence = o.Post(t, path, harness.EvidenceFile("text/plain", fileName, []byte(fileWords))).Want(t, http.StatusCreated).Text(t, "evidence.1.id")
	harness.RuleClaim(t, o, payment, "won") // the event claim.resolved has the evidence
	id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
	s.Notify(t, "sandbox-1", harness.NoticeBody(id, `"status":"paid","amount":"9","currency":"USD","payer":{"name":"`+payerName+`","email":"`+payerMail+`"}`)).
		Want(t, http.StatusOK)
	waiting, err := s.App.Notices.Notifications(ctx, id, 10)
	harness.Must(t, err)
	p.cash, p.receipt = id, waiting[0].ID
	harness.Must(t, s.App.Notices.CloseNotification(ctx, s.App.Notices.Self(), p.receipt, noteWords))
	harness.Eventually(t, "the inbox has claim.resolved with the evidence", func() bool {
		return strings.Contains(string(p.hook.Get(t, p.hook.Path("/inbox")).Body), saidWords)
	})
	return p
}

// shows fails the test unless the merchant and the operator can read the personal data.
func (p persons) shows(t *testing.T, s *harness.Instance, when string) {
	t.Helper()
	p.Instance, p.hook.Instance = s, s
	r := p.Get(t, "/claims/"+p.claim).Want(t, http.StatusOK)
	if r.Text(t, "evidence.0.text") != saidWords || r.Text(t, "evidence.1.file.name") != fileName {
		t.Errorf("%s: the claim shows %s", when, r)
	}
	if list := p.Get(t, "/claims").Want(t, http.StatusOK); !strings.Contains(string(list.Body), saidWords) {
		t.Errorf("%s: the list of claims shows %s", when, list)
	}
	if _, _, content := harness.Download(t, p.Client, "/claims/"+p.claim+"/evidence/"+p.evidence+"/file"); string(content) != fileWords {
		t.Errorf("%s: the file is %q", when, content)
	}
	if inbox := p.hook.Get(t, p.hook.Path("/inbox")); !strings.Contains(string(inbox.Body), saidWords) {
		t.Errorf("%s: the inbox shows %s", when, inbox)
	}
	log := p.hook.Get(t, p.hook.Path("/deliveries?event=claim.resolved")).Text(t, "data.0.id")
	if sent := p.hook.Get(t, p.hook.Path("/deliveries/"+log)); !strings.Contains(string(sent.Body), saidWords) {
		t.Errorf("%s: the delivery log shows %s", when, sent)
	}
	for id, want := range map[string]string{p.receipt: payerMail, "/closed/" + p.receipt: noteWords} {
		n, err := s.App.Notices.Notification(ctx, id)
		harness.Must(t, err)
		if !strings.Contains(string(n.Body), want) {
			t.Errorf("%s: notification %s is %q", when, id, n.Body)
		}
	}
}

// needles returns the personal data in plain text and in base64, each with its name.
func needles() map[string]string {
	needles := map[string]string{}
	for _, word := range []string{saidWords, fileName, fileWords, payerName + `","email`, payerMail} {
		needles[word] = word
		for skip := range 3 {
			text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", skip) + word))
			needles[text[4:len(text)-4]] = word + " in base64"
		}
	}
	return needles
}

// secret lists the personal data that the rows of the database have in plain text or in base64. It
// does not look for the operator's note, which is in the audit log in plain text.
func secret(t *testing.T, s *harness.Instance) (found []string) {
	t.Helper()
	needles := needles()
	for table, rows := range dump(t, s) {
		for _, row := range rows {
			for needle, word := range needles {
				if strings.Contains(row, needle) {
					found = append(found, table+": "+word)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// noWordInFiles fails the test if the files of a SQLite database have personal data.
func noWordInFiles(t *testing.T, s *harness.Instance) {
	t.Helper()
	path, ok := strings.CutPrefix(s.Database, "sqlite:")
	if !ok {
		return
	}
	files, err := filepath.Glob(path + "*")
	harness.Must(t, err)
	if len(files) == 0 {
		t.Fatal("the database has no file")
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		harness.Must(t, err)
		for needle, word := range needles() {
			if bytes.Contains(content, []byte(needle)) {
				t.Errorf("%s has %s", filepath.Base(name), word)
			}
		}
	}
}

// dump reads all rows of all tables.
func dump(t *testing.T, s *harness.Instance) map[string][]string {
	t.Helper()
	query, closeDB := s.Open(t)
	defer closeDB()
	tables := map[string][]string{}
	for _, row := range query(columnsOf[strings.HasPrefix(s.Database, "postgres")]) {
		table, _, _ := strings.Cut(row, "\x1f")
		tables[table] = nil
	}
	for table := range tables {
		tables[table] = query(`SELECT * FROM "` + table + `"`)
	}
	if len(tables["claims"]) == 0 || len(tables["files"]) == 0 || len(tables["receipts"]) == 0 || len(tables["events"]) == 0 || len(tables["inbox"]) == 0 {
		t.Fatal("the dump lacks rows")
	}
	return tables
}

// A copy of the database without the master key shows neither evidence nor notifications. Merchants
// and the operator can read them, also after a rotation of the master key.
func TestPersonalDataIsEncryptedAtRest(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		c := &harness.Clock{}
		s := harness.StartWith(t, database, c, masterKeys(1))
		s.Rate(t, "MXN 18.35")
		p := told(t, s)
		p.shows(t, s, "at once")
		if found := secret(t, s); len(found) > 0 {
			t.Errorf("the database has in plain text: %q", found)
		}
		s.End(t)

		s = harness.StartWith(t, database, c, masterKeys(1, 2))
		before := dump(t, s)["receipts"]
		harness.Must(t, s.App.Secrets.RotateMasterKey(ctx, s.App.Self()))
		_, err := s.App.Secrets.Reencrypt(ctx)
		harness.Must(t, err)
		if !slices.Equal(before, dump(t, s)["receipts"]) {
			t.Error("a rotation of the master key changes the kept notifications, want only the root encrypted again")
		}
		s.End(t)
		s = harness.StartWith(t, database, c, masterKeys(2))
		p.shows(t, s, "after a rotation")
		if found := secret(t, s); len(found) > 0 {
			t.Errorf("after a rotation the database has in plain text: %q", found)
		}
		noWordInFiles(t, s)
	})
}

// A repeated notification is kept once, although it is encrypted to another text each time.
func TestNotificationThatComesTwiceIsKeptOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		body := harness.NoticeBody(id, harness.Paid50)
		for range 3 {
			s.Notify(t, "sandbox-1", body).Is(t, http.StatusOK, `{"ok":true}`)
		}
		list, err := s.App.Notices.Notifications(ctx, id, 10)
		harness.Must(t, err)
		if len(list) != 1 || string(list[0].Body) != body {
			t.Errorf("the kept notifications are %+v, want one", list)
		}
	})
}

// A text that cannot be decrypted is named in the log, and does not affect other texts.
func TestTextThatCannotBeOpenedIsNamed(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		p, other := told(t, s), told(t, s)
		exec, closeDB := s.Exec(t)
		defer closeDB()
		// The first text is copied from another row, the others are damaged.
		exec("UPDATE receipts SET body = (SELECT o.body FROM receipts AS o WHERE o.id = $1) WHERE id = $2", other.receipt, p.receipt)
		query, closeQuery := s.Open(t)
		defer closeQuery()
		content := query("SELECT content FROM files WHERE id = '" + p.evidence + "'")[0]
		exec("UPDATE files SET content = substr(content, 1, 40) || 'AAAA' || substr(content, 45) WHERE id = $1", p.evidence)
		exec("UPDATE claims SET doc = replace(doc, 'sealed:1:', 'sealed:1:AAAA') WHERE id = $1", p.claim)
		defer s.Log.Mute()
		namedBy(t, s, p.claim, p.evidence)

		if n, err := s.App.Notices.Notification(ctx, p.receipt); err == nil || !strings.Contains(message.Sentence(err), p.receipt) {
			t.Errorf("the notification %s reads as %q with the error %v, want an error that names it", p.receipt, n.Body, err)
		}
		list, err := s.App.Notices.Notifications(ctx, p.cash, 10)
		harness.Must(t, err)
		if len(list) != 2 || string(list[0].Body) != "[cannot be opened]" || string(list[1].Body) != noteWords {
			t.Errorf("the list of notifications has %q", list)
		}
		s.Log.Extract(t, "receipts.body "+p.receipt)
		r := p.Get(t, "/claims/"+p.claim).Want(t, http.StatusOK)
		if r.Text(t, "evidence.0.text") != "[cannot be opened]" || r.Text(t, "evidence.1.file.name") != "[cannot be opened]" {
			t.Errorf("the claim shows %s", r)
		}
		p.Get(t, "/claims").Want(t, http.StatusOK)
		s.Log.Extract(t, "claims.doc "+p.claim)
		damaged, err := http.NewRequest(http.MethodGet, s.URL+harness.APIPath+"/claims/"+p.claim+"/evidence/"+p.evidence+"/file", nil)
		harness.Must(t, err)
		damaged.Header.Set("Authorization", "Bearer "+p.Credential)
		res, err := http.DefaultTransport.RoundTrip(damaged) // without the check against the document, which has no 500
		harness.Must(t, err)
		res.Body.Close()
		if res.StatusCode != http.StatusInternalServerError {
			t.Errorf("the damaged file returns %d, want 500", res.StatusCode)
		}
		s.Log.Extract(t, "files.content "+p.evidence)
		other.shows(t, s, "beside damaged rows")

		// A write of the claim must not overwrite the text that cannot be decrypted.
		_, claim := p.Dispute(t, true)
		p.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		exec("UPDATE claims SET doc = replace(doc, 'sealed:1:', 'sealed:1:AAAA') WHERE id = $1", claim)
		p.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		exec("UPDATE claims SET doc = replace(doc, 'sealed:1:AAAA', 'sealed:1:') WHERE id = $1", claim)
		r = p.Get(t, "/claims/"+claim).Want(t, http.StatusOK)
		if r.Text(t, "evidence.0.text") != "it was signed for" || r.Text(t, "evidence.1.text") != "it was signed for" {
			t.Errorf("the repaired claim shows %s, want both texts", r)
		}

		// The check names a row until it is as the service wrote it, or the service writes it again.
		namedBy(t, s, p.claim, p.evidence, claim)
		exec("UPDATE claims SET doc = replace(doc, 'sealed:1:AAAA', 'sealed:1:') WHERE id = $1", p.claim)
		exec("UPDATE files SET content = $1 WHERE id = $2", content, p.evidence)
		p.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		namedBy(t, s)
	})
}

// namedBy fails the test unless the check names exactly these rows.
func namedBy(t *testing.T, s *harness.Instance, want ...string) {
	t.Helper()
	broken, err := s.App.Check(ctx)
	harness.Must(t, err)
	var named []string
	for _, b := range broken {
		named = append(named, b.ID)
	}
	slices.Sort(named)
	slices.Sort(want)
	if !slices.Equal(named, want) {
		t.Errorf("the check names %q, want %q: %v", named, want, broken)
	}
}
