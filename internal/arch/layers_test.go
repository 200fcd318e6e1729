package arch

import (
	"slices"
	"strings"
)

// layer says what a package may import of ours, and why no more.
// "app/..." in it means all packages below app.
type layer struct{ may, because string }

// allows reports whether the package may import another of ours.
func (l layer) allows(other string) bool {
	return slices.ContainsFunc(strings.Fields(l.may), func(name string) bool {
		below, all := strings.CutSuffix(name, "...")
		return name == other || all && strings.HasPrefix(other, below)
	})
}

// layers is the direction of the architecture: money → ledger → pay → {store,
// provider, webhook, vault} → view → app → {web, wire, api, admin, checkout} → daemon → cli → cmd. A package
// may not know what is to the right of it. Change a line only with the design.
var layers = map[string]layer{
	"internal/money":                 {"", "amounts are the ground that everything stands on"},
	"internal/ledger":                {"money", "bookkeeping knows amounts, not what is paid for"},
	"internal/pay/problem":           {"money", "an error that a caller sees is about nothing in particular"},
	"internal/pay/tenant":            {"money pay/problem", "merchants and their rights stand below what they do with them"},
	"internal/pay/audit":             {"pay/tenant", "the audit log says who, for whom and what; not how"},
	"internal/pay/acquirer":          {"money pay/problem pay/tenant", "accounts and rails are chosen from; they do not know the payment"},
	"internal/pay/hook":              {"pay/problem pay/tenant", "an event's way to an endpoint is the same whatever it tells of"},
	"internal/pay":                   {"money ledger pay/...", "the core decides with values alone, so that every rule is tested as a table"},
	"internal/geo":                   {"money", "countries are data"},
	"internal/fx":                    {"money pay pay/...", "rates are data in the core's words"},
	"internal/catalog":               {"money pay pay/...", "rails are data in the core's words"},
	"internal/id":                    {"", "an id means nothing to whoever makes it"},
	"internal/vault":                 {"", "secrets are bytes to whoever keeps them"},
	"internal/mail":                  {"", "the sender takes a text to a server and knows no domain"},
	"internal/letter":                {"pay pay/... mail", "a letter is written of the core's values, whoever sends it"},
	"internal/mailtest":              {"", "a mail server for tests knows no service"},
	"internal/webhook":               {"", "the sender takes bytes to an address and knows no domain"},
	"internal/work":                  {"", "a loop knows no domain"},
	"internal/backup":                {"", "a backup is a file of bytes, whatever is in it"},
	"internal/seal":                  {"", "a seal is made of names and values, whatever they mean"},
	"internal/trace":                 {"", "a span knows no domain"},
	"internal/limit":                 {"", "buckets know no merchants and no HTTP"},
	"internal/near":                  {"", "a guess knows letters, not what names mean"},
	"internal/web":                   {"limit", "HTTP plumbing knows nothing of payments"},
	"internal/wire":                  {"money near pay pay/... view web", "an error is told alike by every API, whatever its endpoints are"},
	"internal/routing":               {"money pay pay/...", "an order is decided with values alone, so that it can be made again and explained"},
	"internal/reconcile":             {"money pay pay/...", "a report is compared with values alone, wherever they were read"},
	"internal/bankfile":              {"money document destination reconcile", "a bank's file is bytes and values, whoever sends it; answers in a table are read as reports are"},
	"internal/routing/replay":        {"money pay pay/... routing", "what would have been is decided with values alone, like what is"},
	"internal/routing/rulefile":      {"pay pay/... routing", "the words of the file are not what they do"},
	"internal/settingsfile":          {"", "a file of settings is lines, keys and values, whatever they mean"},
	"internal/provider":              {"money pay pay/... payout reconcile", "a provider answers in the core's words and never sees the database"},
	"internal/provider/dlocal":       {"money pay pay/... payout provider", "an adapter speaks to one provider and knows no other"},
	"internal/provider/ebanx":        {"money pay pay/... payout provider", "an adapter speaks to one provider and knows no other"},
	"internal/provider/sandbox":      {"document money pay pay/... provider", "a simulated provider knows no more than a real one, and what real ones refuse"},
	"internal/provider/adapters":     {"provider provider/adyen provider/bankfiles provider/conekta provider/dlocal provider/ebanx provider/manual provider/mercadopago provider/payulatam provider/stripe provider/woovi", "the list names every adapter and knows nothing of them"},
	"internal/provider/conekta":      {"money pay pay/... provider", "an adapter speaks to one provider and knows no other"},
	"internal/provider/bankfiles":    {"bankfile geo money pay pay/... payout provider", "an account's files are written and read with values alone, whoever made the batch"},
	"internal/provider/manual":       {"pay pay/... payout provider", "an adapter speaks to one provider and knows no other"},
	"internal/provider/mercadopago":  {"money pay pay/... payout provider reconcile", "an adapter speaks to one provider and knows no other"},
	"internal/provider/providertest": {"money pay pay/... provider catalog", "the suite sees an adapter as the cascade does, and knows the rails"},
	"internal/provider/payouttest":   {"money pay pay/... payout provider provider/providertest", "the suite sees an adapter as the core does"},
	"internal/provider/payulatam":    {"money pay pay/... provider", "an adapter speaks to one provider and knows no other"},
	"internal/provider/woovi":        {"money pay pay/... payout provider", "an adapter speaks to one provider and knows no other"},
	"internal/provider/adyen":        {"money pay pay/... provider reconcile", "an adapter speaks to one provider and knows no other"},
	"internal/provider/stripe":       {"money pay pay/... payout provider reconcile", "an adapter speaks to one provider and knows no other"},
	"internal/store/engine":          {"pay/problem", "a database takes statements and rows, whatever they mean; problem says with which code an outage is told"},
	"internal/store":                 {"money ledger pay pay/... id seal store/engine trace", "the store writes what the core decided, and decides nothing"},
	"internal/view":                  {"money ledger pay pay/...", "the public shape is made of the core's values, not of rows or requests"},
	"internal/destination":           {"money document", "where money goes is text with check digits, whoever sends it"},
	"internal/payout":                {"money pay pay/...", "a payout provider answers in the core's words and never sees the database"},
	"internal/payout/simulated":      {"money pay pay/... payout", "a simulated payout provider knows no more than a real one"},
	"internal/app/base":              {"money pay pay/... id store trace vault view work", "what every use case stands on knows none of them"},
	"internal/app/acquiring":         {"app/base catalog fx geo id money near pay pay/... payout provider routing routing/replay store", "the providers' side plans a payment's route and knows nothing of what is paid"},
	"internal/app/auth":              {"app/acquiring app/base id pay pay/... store vault", "who may do what is told by keys, whatever is done"},
	"internal/app/delivery":          {"app/base id near pay pay/... store trace webhook work", "an endpoint gets events, whatever they tell"},
	"internal/app/mails":             {"app/base letter mail pay pay/... store work", "an e-mail is a row that is sent, whatever it says"},
	"internal/app/verification":      {"app/base pay pay/... store", "who a merchant is has nothing to do with what it sells"},
	"internal/app/onboarding":        {"app/auth app/base mail pay pay/... store view", "a merchant is made and named, whatever it sells"},
	"internal/app/privacy":           {"app/auth app/base id pay pay/... store", "what is kept of a person is erased, whatever it was for"},
	"internal/app/payouts":           {"app/acquiring app/base app/mails destination id ledger money pay pay/... payout provider store view", "a merchant is paid from its balance, whatever filled it"},
	"internal/app/cascade":           {"app/acquiring app/base pay pay/... provider store view", "a payment goes to providers, whoever asked for it"},
	"internal/app/claims":            {"app/acquiring app/base app/cascade money pay pay/... provider reconcile store view", "money goes back by the providers that took it"},
	"internal/app/notices":           {"app/acquiring app/base app/cascade app/claims app/payouts id pay pay/... provider store view", "what a provider tells is decided as what it answers"},
	"internal/app/sandbox":           {"app/acquiring app/base app/cascade app/claims app/notices money pay pay/... provider provider/sandbox store view", "what is played comes as notices do"},
	"internal/app/recovery":          {"app/base app/claims app/payouts app/reconciliation id pay pay/... reconcile store store/engine view", "what was lost is found, and given to who stands for it"},
	"internal/app/payments":          {"app/acquiring app/base app/cascade id money pay pay/... provider provider/sandbox store view", "a payment is asked for, and the cascade takes it"},
	"internal/app/settlement":        {"app/base app/payouts ledger money pay pay/... statement store view", "what was earned is settled and paid, whoever took the payment"},
	"internal/app/reconciliation":    {"app/acquiring app/base ledger money pay pay/... provider reconcile store", "a report is compared with the books, and changes neither"},
	"internal/app":                   {"app/... id mail money pay pay/... payout provider routing seal store store/engine vault webhook work", "a use case knows nothing of HTTP or of how it is started"},
	"internal/api":                   {"api/gate api/openapi money ledger pay pay/... geo id limit near destination view app app/... web wire statement", "the API calls use cases; it knows no rows, calls no provider and sends no webhook"},
	"internal/api/openapi":           {"app/sandbox money pay pay/... view wire", "a document tells of operations and does none"},
	"internal/api/gate":              {"app app/auth app/base limit pay pay/... web wire", "whether a request may come in hangs on who sends it, not on what it asks for"},
	"internal/admin":                 {"pay pay/... app app/... web wire admin/shape", "the API for operators calls use cases; merchants' endpoints are none of its business"},
	"internal/admin/shape":           {"money pay pay/... provider routing app app/... view", "what an operator is shown is made of what use cases return"},
	"internal/document":              {"", "a check digit depends on nothing but the number"},
	"internal/checkout":              {"money pay pay/... geo document view app app/... web", "a page shows what use cases return; it decides nothing"},
	"internal/verify":                {"pay pay/... app app/...", "the page shows a verification and hands it in; the use case decides"},
	"internal/apireference":          {"", "the page shows the published document, and what is not in it is not told"},
	"internal/daemon":                {"pay pay/... fx id limit mail vault payout payout/simulated provider routing provider/adapters provider/sandbox store store/engine trace webhook work app app/... web wire api api/gate admin checkout verify apireference", "the daemon wires and does nothing else"},
	"internal/statement":             {"money ledger pay pay/...", "a receipt is drawn from the core's values, whoever sends it"},
	"client":                         {"", "the client speaks HTTP, as a stranger's program does"},
	"internal/bench":                 {"webhook client", "the measure looks at the service from outside"},
	"internal/arch":                  {"", "the rules look at the sources alone"},
	"internal/simulation":            {"", "worlds are tests only"},
	"internal/e2e":                   {"", "the end-to-end tests are tests only"},
	"internal/dbtest":                {"", "databases for tests know no schema"},
	"internal/cli":                   {"money pay pay/... provider app daemon", "what commands share knows none of them"},
	"internal/cli/settings":          {"settingsfile", "a value is found by the name of its flag, whatever it sets"},
	"internal/cli/books":             {"cli money pay pay/... reconcile app app/... backup daemon", "a command parses flags, calls use cases and prints"},
	"internal/cli/people":            {"cli pay pay/... app app/... admin/shape daemon", "a command parses flags, calls use cases and prints"},
	"internal/cli/providers":         {"cli money pay pay/... provider routing routing/replay routing/rulefile app app/... admin/shape daemon", "a command parses flags, calls use cases and prints"},
	"internal/cli/funds":             {"cli money pay pay/... app app/... daemon", "a command parses flags, calls use cases and prints"},
	"cmd/cascada":                    {"cli cli/... pay pay/... reconcile provider/adapters app app/... daemon bench", "the program puts commands together, and serves"},
}
