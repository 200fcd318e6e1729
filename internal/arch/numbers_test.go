package arch

import (
	"encoding/json"
	"go/ast"
	"go/constant"
	"go/token"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// numbers are the limits that texts of pages, e-mails and the documents of the APIs and commands state in words: what each number must
// be. A text cannot name a constant, so it is compared with one, in all languages: "package.Constant", and after a stroke the unit in
// which people read it. A number alone is no limit of ours: a format of the world's, a choice among several, or where counting begins.
var numbers = map[string][]string{
	// Of pages and e-mails: the room and the key.
	"internal/checkout problem_session_text":              {"pay.SessionLife/hours"},
	"internal/dashboard/account password_hint":            {"pay/people.LeastPassword"},
	"internal/dashboard/account passkey_most":             {"pay/people.MostPasskeys"},
	"internal/dashboard/account news_locked":              {"pay/people.MostFailures"},
	"internal/dashboard/analytics class_3d":               {"3"},
	"internal/dashboard/claims documents_about":           {"pay.MaxEvidenceFile/MB", "pay.MaxEvidenceAtOnce/MB"},
	"internal/dashboard/claims too_large":                 {"pay.MaxEvidenceAtOnce/MB"},
	"internal/dashboard/claims text_too_long":             {"pay/evidence.MaxText"},
	"internal/dashboard/claims js_file_too_large":         {"pay.MaxEvidenceFile/MB"},
	"internal/dashboard/claims js_files_too_large":        {"pay.MaxEvidenceAtOnce/MB"},
	"internal/dashboard/console/accounts rotate_about":    {"pay/accounts.Grace/hours"},
	"internal/dashboard/console/accounts success_about":   {"app/accounts.RecordDays"},
	"internal/dashboard/console/books report_hint":        {"pay/reconcile.MaxReport/MB"},
	"internal/dashboard/console/machine nodes_about":      {"store/schema.olderAlive/seconds"},
	"internal/dashboard/console/machine no_nodes_about":   {"store/schema.AliveEvery/seconds"},
	"internal/dashboard/console/plans days_7":             {"7"}, // a choice of the form
	"internal/dashboard/console/plans days_31":            {"31"},
	"internal/dashboard/console/plans days_92":            {"3"},
	"internal/dashboard/console/routing days_7":           {"7"},
	"internal/dashboard/console/routing days_31":          {"31"},
	"internal/dashboard/console/routing days_92":          {"3"},
	"internal/dashboard/console/routing explored_hint":    {"100"},
	"internal/dashboard/console token_make_about":         {"pay/operators.TokenLife/days"},
	"internal/dashboard/developers addresses_about":       {"dashboard/developers.addresses"},
	"internal/dashboard/developers grace_day":             {"24"},
	"internal/dashboard/developers grace_days":            {"3"},
	"internal/dashboard/developers grace_week":            {"7"},
	"internal/dashboard/webhooks hook_secret_text":        {"pay/webhooks.RotationGrace/hours"},
	"internal/dashboard/webhooks inbox_about":             {"pay/webhooks.InboxKept", "pay/webhooks.InboxAge/days"},
	"internal/dashboard/developers plus_week":             {"7"},
	"internal/dashboard/developers plus_month":            {"30"},
	"internal/dashboard/developers reset_about":           {"20"}, // minutes for each million payments, as measured
	"internal/dashboard/webhooks success_about":           {"app/webhooks.RecentDeliveries"},
	"internal/dashboard/webhooks success_hint":            {"app/webhooks.RecentDeliveries"},
	"internal/dashboard/webhooks tries_about":             {"pay/webhooks.attemptLog"},
	"internal/dashboard/merchants wrong_name":             {"pay/merchants.MaxShopName"},
	"internal/dashboard/merchants wrong_schemes":          {"pay/merchants.MaxSchemes"},
	"internal/dashboard/merchants wrong_logo":             {"pay/merchants.MaxLogo/KB", "pay/merchants.MaxLogoSide"},
	"internal/dashboard/merchants export_often":           {"24"}, // a day
	"internal/dashboard/merchants logo_hint":              {"pay/merchants.MaxLogo/KB", "pay/merchants.MaxLogoSide"},
	"internal/dashboard/settlements bucket_reserve_about": {"pay/merchants.DefaultReserveDays"},
	"internal/dashboard/settlements next_releases_about":  {"pay/merchants.DefaultReserveDays"},
	"internal/dashboard/payouts hint_spei":                {"18"},
	"internal/dashboard/payouts wrong_spei":               {"18"},
	"internal/dashboard/payouts hint_ted":                 {"3"},
	"internal/dashboard/payouts wrong_ted":                {"12"},
	"internal/dashboard/payouts hint_cbu":                 {"22"},
	"internal/dashboard/payouts wrong_cbu":                {"22"},
	"internal/dashboard/payouts hint_account":             {"5", "34"},
	"internal/dashboard/payouts wrong_account":            {"5", "34"},
	"internal/dashboard/payouts wrong_holderDocument":     {"4", "pay.MaxHolderDocument"},
	"internal/dashboard/payouts hold_live":                {"pay.liveHold/minutes"},
	"internal/dashboard/payouts hold_sandbox":             {"pay.sandboxHold/seconds"},
	"internal/dashboard/payments paid_week":               {"7"},
	"internal/dashboard/payments approval_week":           {"7"},
	"internal/dashboard/payments need_waiting":            {"app/payments.LongWait/minutes"},
	"internal/dashboard/payments find_hint":               {"pay/lists.FewestOfDocument"},
	"internal/dashboard/payments list_nothing_about":      {"pay/lists.FewestOfDocument"},
	"internal/dashboard/payments search_nothing_about":    {"pay/lists.FewestOfDocument"},
	"internal/dashboard/payments wrong_document":          {"pay/lists.FewestOfDocument"},
	"internal/dashboard/payments link_last_hint":          {"pay.UsualLinkLife/days"},
	"internal/mail/letter alert_sign_in":                  {"pay/people.SignInsKept/days"},
	"internal/mail/letter alert_half_sign_in":             {"pay/people.SignInsKept/days"},
	"internal/mail/letter alert_locked_subject":           {"pay/people.LockFor/minutes"},
	"internal/mail/letter alert_locked":                   {"pay/people.MostFailures", "pay/people.LockFor/minutes"},
	"internal/mail/letter alert_do_export":                {"pay/merchants.ErasureNotice/days"},

	// Of the documents of the APIs: the file and the field.
	"internal/api/webhooks/deliveries.go data":            {"pay/webhooks.InboxKept", "pay/webhooks.InboxAge/days"},
	"internal/api/payments/links.go expiresAt":            {"pay.LongestLinkLife/days", "pay.UsualLinkLife/days"},
	"internal/api/webhooks/events.go Idempotency-Key":     {"pay.MaxIdempotencyKey"},
	"internal/api/payments/links.go Idempotency-Key":      {"pay.MaxIdempotencyKey"},
	"internal/api/payments/payments.go Idempotency-Key":   {"pay.MaxIdempotencyKey"},
	"internal/api/claims/refunds.go Idempotency-Key":      {"pay.MaxIdempotencyKey"},
	"internal/api/webhooks/webhooks.go Idempotency-Key":   {"pay.MaxIdempotencyKey"},
	"internal/api/payouts/withdrawals.go Idempotency-Key": {"pay.MaxIdempotencyKey"},
	"internal/api/payouts/wallets.go holderDocument":      {"4", "pay.MaxHolderDocument"},
	"internal/api/payouts/wallets.go bankCode":            {"pay.MaxBankCode", "3"},
	"internal/api/payouts/wallets.go branchCode":          {"pay.MaxBranchCode"},
	"internal/admin/people/operators.go endsAt":           {"pay/operators.TokenLife/days"},
	"internal/admin/people/operators.go all":              {"app/base.mostProposals"},
	"internal/admin/books/stories.go from":                {"admin/books.storySpan/days"},
	"internal/admin/shape/books.go broken":                {"admin/shape.mostBroken"},
	"internal/admin/shape/books.go findings":              {"admin/call.MostFindings"},
	"internal/admin/shape/merchant.go trustScore":         {"pay/merchants.MostScore"},
	"internal/admin/merchants/shops.go logo":              {"pay/merchants.MaxLogo/KB", "pay/merchants.MaxLogoSide"},
	"internal/view/merchant.go trustScore":                {"pay/merchants.MostScore"},
	"internal/view/merchant.go feeSummary":                {"app/settlements.FeePeriod/days"},
	"internal/view/merchant.go movements":                 {"app/settlements.MovementsShown"},
	"internal/view/webhook.go attemptLog":                 {"pay/webhooks.attemptLog"},
	"internal/view/webhook.go responseSnippet":            {"pay/webhooks.logSnippet"},

	// Of commands: the file and the field.
	"internal/cli/merchants/merchant.go TrustScore": {"pay/merchants.MostScore"},
	"internal/cli/merchants/shop.go Scheme":         {"pay/merchants.MaxSchemes"},
	"internal/cli/merchants/shop.go Logo":           {"pay/merchants.MaxLogo/KB", "pay/merchants.MaxLogoSide"},
	"internal/cli/people/operator.go Expires":       {"pay/operators.TokenLife/days"},
	"internal/devcli/links.go Uses":                 {"pay.MaxLinkUses"},
	"internal/devcli/links.go Expires":              {"pay.UsualLinkLife/days"},
	"internal/devcli/links.go Limit":                {"pay/lists.MostPageRows"},
	"internal/devcli/logs.go Lines":                 {"pay/lists.MostPageRows"},
	"internal/devcli/mcp/doc.go HTTPSecret":         {"devcli/mcp.minSecret"},
	"internal/cli/books/check.go Parallel":          {"store/engine.MostReaders"},
	"cmd/cascada/bench.go Slow":                     {"bench.slowAnswer/seconds"},
	"cmd/cascada/bench.go Webhooks":                 {"bench.awaitTime/seconds"},
}

// units are in what people read sizes and times.
var units = map[string]int64{
	"": 1, "KB": 1 << 10, "MB": 1 << 20, "seconds": 1e9, "minutes": 60e9, "hours": 3600e9, "days": 24 * 3600e9,
}

const unitWords = `days?|hours?|minutes?|seconds?|s|months?|weeks?|characters|letters|digits|MB|KB|GB|bytes|pixels|addresses|passkeys|tries|times|rows|lines|payments|shops|keys|webhooks|endpoints|deliveries|wrong`

// The first form finds, in an English text, the numbers that say how many, how long or how large. The other one finds every number.
var (
	limiting = regexp.MustCompile(`(?i)\b(?:at most|at least|up to|newest|latest|first|last|larger than|longer than|over|more than|from|to|least|have)\s+(?:the\s+)?(?:last\s+)?(\d[\d,]*)\b|(?:^|[^.\d])\b(\d[\d,]*)\s+(?:(?:more|printable|readable)\s+)?(?:` + unitWords + `)\b|\b(\d[\d,]*) at most`)
	anyCount = regexp.MustCompile(`\d[\d.,]*`)
)

// counts are the numbers in a text, without what separates thousands.
func counts(text string) (list []int64) {
	for _, word := range anyCount.FindAllString(text, -1) {
		if n, err := strconv.ParseInt(strings.NewReplacer(".", "", ",", "").Replace(word), 10, 64); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// A limit is stated once: numbers in texts are what the core has, in every language, and one that is missing in the table fails.
func TestNumbersInTextsAreTheCores(t *testing.T) {
	files := sources(t, false)
	values := newCoreValues(files)
	used := map[string]bool{}
	compare := func(at, key, english string, others ...string) {
		want, known := numbers[key]
		var found []int64
		for _, match := range limiting.FindAllStringSubmatch(english, -1) {
			found = append(found, counts(strings.Join(match[1:], ""))...)
		}
		found = slices.DeleteFunc(found, func(n int64) bool { return n <= 1 }) // where counting begins
		if !known {
			if len(found) > 0 {
				t.Errorf("%s: the table of numbers has no %q, of %q: state %d in the core, and name the constant in the table", at, key, english, found)
			}
			return
		}
		var wanted []int64
		for _, name := range want {
			wanted = append(wanted, values.in(t, name))
		}
		used[key] = used[key] || len(found) > 0
		for _, n := range found {
			if !slices.Contains(wanted, n) {
				t.Errorf("%s: %s says %d in %q, and the core has %v", at, key, n, english, wanted)
			}
		}
		for _, text := range others {
			for _, n := range found {
				if !slices.Contains(counts(text), n) {
					t.Errorf("%s: %s does not say %d in %q", at, key, n, text)
				}
			}
		}
	}
	walk(t, func(file string) error {
		if path.Base(file) != "en.json" || path.Base(path.Dir(file)) != "text" || strings.Contains(file, "testdata") || !strings.HasPrefix(file, "internal/") {
			return nil
		}
		var texts [3]map[string]any
		for i, language := range []string{"en", "es", "pt"} {
			text, err := os.ReadFile("../../" + path.Dir(file) + "/" + language + ".json")
			if err == nil {
				err = json.Unmarshal(text, &texts[i])
			}
			if err != nil {
				return err
			}
		}
		for _, key := range slices.Sorted(maps.Keys(texts[0])) {
			if english, ok := texts[0][key].(string); ok {
				es, _ := texts[1][key].(string)
				pt, _ := texts[2][key].(string)
				compare(file, path.Dir(path.Dir(file))+" "+key, english, es, pt)
			}
		}
		return nil
	})
	for _, s := range files {
		if !below(s.dir, []string{"internal/api", "internal/admin", "internal/view", "internal/cli", "internal/devcli", "cmd/cascada"}) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil {
				return true
			}
			text, _ := strconv.Unquote(field.Tag.Value)
			tag, name := reflect.StructTag(text), ""
			if len(field.Names) > 0 {
				name = field.Names[0].Name
			}
			for _, where := range []string{"json", "query", "path", "header"} {
				if says, has := tag.Lookup(where); has && tag.Get("help") == "" {
					name, _, _ = strings.Cut(says, ",")
				}
			}
			compare(s.at(field), s.path+" "+name, tag.Get("doc")+tag.Get("help"))
			return true
		})
	}
	for _, key := range slices.Sorted(maps.Keys(numbers)) {
		if !used[key] {
			t.Errorf("the table of numbers has %q, and no text with that name says a number", key)
		}
	}
}

// coreValues are the constants of the program, by "package.Name", the package without internal/.
type coreValues struct {
	of     map[string]ast.Expr
	values map[string]constant.Value
}

func newCoreValues(files []source) *coreValues {
	c := &coreValues{map[string]ast.Expr{}, map[string]constant.Value{}}
	for _, s := range files {
		for _, decl := range s.file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.CONST {
				continue
			}
			for _, spec := range d.Specs {
				of := spec.(*ast.ValueSpec)
				for i, name := range of.Names {
					if i < len(of.Values) {
						c.of[strings.TrimPrefix(s.dir, "internal/")+"."+name.Name] = of.Values[i]
					}
				}
			}
		}
	}
	return c
}

// in returns the constant of a name in its unit, or a number that stands for itself.
func (cv *coreValues) in(t *testing.T, name string) int64 {
	t.Helper()
	if n, err := strconv.ParseInt(name, 10, 64); err == nil {
		return n
	}
	at := strings.LastIndex(name, ".")
	of, unit, _ := strings.Cut(name[at+1:], "/")
	value := cv.value(name[:at], &ast.Ident{Name: of})
	n, exact := constant.Int64Val(constant.ToInt(value))
	if value.Kind() == constant.Unknown || !exact || units[unit] == 0 || n%units[unit] != 0 {
		t.Fatalf("%s is no constant, or no whole number of its unit: %v", name, value)
	}
	return n / units[unit]
}

// value evaluates a constant expression of a package: numbers, other constants and units of time.
func (cv *coreValues) value(dir string, e ast.Expr) constant.Value {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0)
	case *ast.ParenExpr:
		return cv.value(dir, e.X)
	case *ast.Ident:
		if of := cv.of[dir+"."+e.Name]; of != nil {
			return cv.value(dir, of)
		}
	case *ast.SelectorExpr:
		if from, ok := e.X.(*ast.Ident); ok && from.Name == "time" {
			of := map[string]string{"Second": "seconds", "Minute": "minutes", "Hour": "hours"}[e.Sel.Name]
			return constant.MakeInt64(units[of])
		}
	case *ast.BinaryExpr:
		x, y := cv.value(dir, e.X), cv.value(dir, e.Y)
		if x.Kind() == constant.Unknown || y.Kind() == constant.Unknown {
			return constant.MakeUnknown()
		}
		if e.Op == token.SHL {
			n, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(n))
		}
		return constant.BinaryOp(x, e.Op, y)
	}
	return constant.MakeUnknown()
}
