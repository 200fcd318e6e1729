package wire

import (
	"slices"
	"strings"
	"unicode"

	"github.com/cascadapay/cascada/internal/near"
	"golang.org/x/text/unicode/norm"
)

// A shop may send its own fields with a payment or a checkout session: they are ignored. But a field that decides how much
// moves, in which money, how, or where to, must not be ignored because it has another name (ERR-30). These tables say which
// names can mean that, in English, Spanish and Portuguese: as one of a name's words, as the whole name, or as several words.

// meaning is what a name may mean, as an error says it.
type meaning string

const (
	anAmount      meaning = "an amount"
	aCurrency     meaning = "a currency"
	aMethod       meaning = "a payment method"
	aDestination  meaning = "a destination of the money"
	anIdempotency meaning = "an idempotency key"
	anInstallment meaning = "a number of installments"
	aCapture      meaning = "when the money is captured"
	aTrial        meaning = "that no money moves"
	aShop         meaning = "whose money it is"
)

// leastFused is how many letters a word has that is recognized at an end of a name without separators, mostWords how many words of a name
// are compared.
const leastFused, mostWords = 5, 12

// field is our name for it.
func (m meaning) field() string {
	return map[meaning]string{
		anAmount: "amount", aCurrency: "currency", aMethod: "paymentMethodId", anInstallment: "installments",
	}[m]
}

// amountWords mean an amount and nothing else.
var amountWords = []string{"amount", "amnt", "amt", "value", "valor", "importe", "monto", "montante", "quantia", "total", "cent", "centavo", "sum", "suma", "soma"}

// nameWords mean it wherever they stand in a name: amountInCents, total_price, currencyCode.
var nameWords = map[meaning][]string{
	anAmount: slices.Concat(amountWords, []string{
		"money", "dinero", "dinheiro", "subtotal", "price", "precio", "preco", "tarifa", "cost", "costo", "charge", "cobro", "cobranca", "payable", "fee", "tip",
		"discount", "descuento", "desconto", "coupon", "cupon", "cupom",
	}),
	aCurrency:     {"currency", "currencie", "ccy", "moneda", "moeda", "divisa", "iso4217", "denomination"},
	aMethod:       {"method", "metodo", "medio", "meio", "rail", "instrument", "gateway", "processor", "acquirer", "psp", "pix", "spei", "oxxo", "pse", "boleto", "wallet"},
	aDestination:  {"destination", "destino", "recipient", "beneficiary", "beneficiario", "destinatario", "payee", "receiver", "favorecido", "split", "submerchant", "collector", "iban", "clabe", "payout", "disbursement", "transfer"},
	anIdempotency: {"idempotency", "idempotence", "idempotent", "idempotencia", "dedup", "dedupe", "deduplication", "nonce"},
	anInstallment: {"installment", "instalment", "cuota", "parcela", "msi", "mensualidade", "mensualidad"},
	aCapture:      {"capture", "captured", "captura", "preauth", "authorize", "authorise", "authorization", "autorizacion", "autorizacao"},
}

// wholes mean it if they are the whole name: tax, but not taxId.
var wholes = map[meaning][]string{
	anAmount: {
		"tax", "taxe", "vat", "iva", "impuesto", "imposto", "gratuity", "propina", "gorjeta", "interest", "interes", "juro", "shipping", "freight",
		"envio", "frete", "surcharge", "recargo", "quantity", "qty", "cantidad", "quantidade", "balance", "saldo", "paid", "gross", "net", "due", "custo", "usd", "brl", "mxn", "cop", "clp", "pen", "ars",
		"taxa", "bruto", "liquido", "deposit", "deposito", "anticipo", "cotacao", "cotizacion", "trm",
	},
	aCurrency:     {"cur", "curr", "coin"},
	anInstallment: {"month", "mese", "veze", "deferred"},
	aTrial:        {"simulate", "dryrun", "testmode"},
	aMethod:       {"source", "card", "token", "provider", "channel", "canal", "pm"},
	aDestination:  {"account", "cuenta", "conta", "payto", "marketplace", "acct"},
	aCapture:      {"intent", "intention", "confirm", "auth", "autocomplete", "settle"},
}

// phrases mean it if all their words are in a name, in any order: payment_type, mediosDePago.
var phrases = map[meaning][][]string{
	anAmount:      {{"tax", "rate"}, {"vat", "rate"}, {"fx", "rate"}, {"exchange", "rate"}, {"tipo", "cambio"}, {"tasa", "cambio"}, {"taxa", "cambio"}, {"down", "payment"}, {"minimum", "payment"}},
	aMethod:       {{"source", "id"}, {"card", "id"}, {"card", "token"}, {"payment", "type"}, {"payment", "option"}, {"payment", "source"}, {"payment", "channel"}, {"tipo", "pago"}, {"forma", "pago"}, {"forma", "pagamento"}, {"tipo", "pagamento"}, {"billing", "type"}, {"payment", "brand"}, {"pay", "with"}},
	anIdempotency: {{"request", "id"}, {"client", "token"}, {"unique", "key"}, {"unique", "reference"}, {"request", "key"}},
	aDestination:  {{"merchant", "account"}, {"behalf", "of"}, {"bank", "account"}, {"connected", "account"}, {"cuenta", "bancaria"}, {"conta", "bancaria"}, {"application", "fee"}, {"seller", "id"}, {"sub", "merchant"}, {"stripe", "account"}},
	anInstallment: {{"number", "payment"}, {"mese", "interese"}, {"deferral", "payment"}, {"payment", "plan"}},
	aCapture:      {{"transaction", "type"}, {"submit", "settlement"}, {"auth", "only"}, {"hold", "fund"}},
	aTrial:        {{"dry", "run"}, {"validate", "only"}, {"test", "mode"}},
}

// harmless are names that have such a word and mean nothing of it: how the things are sent, and to whom.
var harmless = []string{
	"shippingmethod", "deliverymethod", "fulfillmentmethod", "metodoenvio", "metododeenvio", "metodoentrega", "metododeentrega", "recipientname", "recipientaddress", "recipientphone",
	"receivername", "receiveraddress", "receiverphone", "costcenter", "centrocosto", "centrodecosto", "centrodecusto", "pricelist",
}

// freight may be what sending costs, or where it is sent to: then it is an object, and what is in it decides.
var freight = []string{"shipping", "freight", "envio", "frete"}

// undone are values that say of any field that the money is not to be captured yet, as in {"type":"AUTHORIZATION"}.
var undone = []string{"authorization", "authorisation", "authorize", "authorise", "authonly", "authorizeonly", "authorizationonly", "preauth", "preauthorization", "preauthorisation"}

// meanings lists them in the order in which they are tried.
var meanings = []meaning{anAmount, aCurrency, anIdempotency, anInstallment, aMethod, aDestination, aCapture, aTrial}

// grave are our fields that decide about the money of a payment: a misspelling of one is refused, and so is one in another object.
var grave = []string{"amount", "currency", "paymentMethodId", "paymentMethod", "installments", "shopId", "merchantId"}

// ours is what our fields mean.
var ours = map[string]meaning{
	"amount": anAmount, "currency": aCurrency, "paymentMethodId": aMethod, "paymentMethod": aMethod, "installments": anInstallment, "shopId": aShop, "merchantId": aShop,
}

// means says what an unknown name may mean, and our name for it if there is one; "" for a name that is a shop's own affair.
func means(name string) (m meaning, field string) {
	name = norm.NFKD.String(name)
	if field = near.Typo(name, grave); slices.Contains(grave, name) {
		return ours[name], name
	} else if field != "" {
		return ours[field], field
	}
	parts := parted(name)
	fused := strings.Join(parts, "")
	if slices.Contains(harmless, fused) {
		return "", ""
	}
	for _, m := range meanings {
		if slices.Contains(wholes[m], fused) || slices.ContainsFunc(nameWords[m], func(w string) bool {
			return slices.Contains(parts, w) || len(parts) == 1 && len(w) >= leastFused && (strings.HasPrefix(fused, w) || strings.HasSuffix(fused, w))
		}) || slices.ContainsFunc(phrases[m], func(phrase []string) bool {
			joined := strings.Join(phrase, "")
			return joined == fused || slices.Contains(parts, joined) || !slices.ContainsFunc(phrase, func(w string) bool { return !slices.Contains(parts, w) })
		}) {
			return m, m.field()
		}
	}
	return "", ""
}

// synonym is our name for an amount or a currency that another API has under another name, "" if it is neither.
func synonym(name string) string {
	_, field := means(name)
	if field == anAmount.field() && !slices.ContainsFunc(parted(name), func(w string) bool { return slices.Contains(amountWords, w) }) {
		return "" // a fee, a price
	}
	return field
}

// meansBy says what an unknown field may mean by its value, whatever means says of its name; known is false if the name decides.
func meansBy(name string, value any) (m meaning, known bool) {
	switch value := value.(type) {
	case string:
		if len(value) <= longestMode && slices.Contains(undone, strings.Join(parted(value), "")) {
			return aCapture, true
		}
	case bool:
		if value && slices.Contains([]string{"test", "sandbox", "isTest", "is_test"}, name) {
			return aTrial, true
		}
	case map[string]any:
		return "", slices.Contains(freight, strings.ToLower(name))
	}
	return "", false
}

// longestMode is longer than any of undone as anybody writes it.
const longestMode = 30

// decides reports whether an unknown name may mean something that decides about money.
func decides(name string) bool {
	m, _ := means(name)
	return m != "" || near.Meant(name, grave) != ""
}

// parted are the words of a name in lower case, without accents and without the s of a plural: AmountsInCents has amount, in
// and cent.
func parted(name string) (parts []string) {
	var word strings.Builder
	end := func() {
		if text := word.String(); text != "" && len(parts) < mostWords {
			parts = append(parts, singular(text))
		}
		word.Reset()
	}
	runes := []rune(norm.NFD.String(name))
	for i, r := range runes {
		switch {
		case unicode.Is(unicode.Mn, r): // an accent
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end()
		}
		word.WriteRune(unicode.ToLower(r))
	}
	end()
	return parts
}

// singular takes the end of a plural away: currencies, totals, valores.
func singular(word string) string {
	switch {
	case strings.HasSuffix(word, "ores"): // valores
		return word[:len(word)-2]
	case len(word) > 2 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss"):
		return word[:len(word)-1]
	}
	return word
}
