// Package statement writes the documents of a settlement: the PDF receipt and the CSV
// report, in the merchant's language. The same settlement gives the same bytes. It only
// formats values, and knows neither the database nor HTTP.
package statement

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Statement is the data of a receipt.
type Statement struct {
	Settlement pay.Settlement
	Merchant   merchants.Merchant
	Lines      []pay.SettlementLine // the first lines; the report has the rest
}

// words is the texts in one language.
type words struct {
	receipt, sandbox, merchant, settlement, period, closed, environment, production, testing string
	summary, gross, platform, provider, network, refunds, chargebacks, chargebackFees        string
	held, released, adjustments, net, lines, more, footer, page                              string

	number, date, kind, transaction, order, claim, local, currency, amount string
	fees, platformFee, providerFee, networkFee, chargebackFee              string
	reserve, adjustment, lineNet, tax, feeTax, taxName, taxPercent         string

	kinds map[pay.LineType]string

	day             string // layout of a date
	group, decimals string // separators of numbers
}

// dictionary has every language. A test checks that no text is missing.
var dictionary = map[merchants.Language]words{
	merchants.English: {
		receipt: "Settlement receipt", sandbox: "SANDBOX - NO REAL MONEY", merchant: "Merchant", settlement: "Settlement",
		period: "Period", closed: "Closed", environment: "Environment", production: "Production", testing: "Sandbox",
		summary: "Summary", tax: "%s on fees", taxName: "Tax", taxPercent: "Tax in percent", feeTax: "Tax on fees", gross: "Gross volume", platform: "Platform fees", provider: "Provider fees", network: "Network fees",
		refunds: "Refunds", chargebacks: "Chargebacks", chargebackFees: "Chargeback fees", held: "Rolling reserve held",
		released: "Rolling reserve returned", adjustments: "Adjustments", net: "Net amount", lines: "Lines",
		more: "The first %s of %s lines. The CSV report has them all.", footer: "All amounts in US dollars. Times in UTC.", page: "Page %d of {n}",
		number: "No.", date: "Date", kind: "Type", transaction: "Transaction", order: "Order", claim: "Claim",
		local: "Local amount", currency: "Local currency", amount: "Amount", fees: "Fees", platformFee: "Platform fee",
		providerFee: "Provider fee", networkFee: "Network fee", chargebackFee: "Chargeback fee", reserve: "Reserve",
		adjustment: "Adjustment", lineNet: "Net",
		kinds: map[pay.LineType]string{
			pay.LineCharge: "Charge", pay.LineRefund: "Refund", pay.LineChargeback: "Chargeback",
			pay.LineRefundFee: "Refund fee", pay.LineChargebackFee: "Chargeback fee", pay.LineRelease: "Reserve release", pay.LineAdjustment: "Adjustment",
		},
		day: "2 Jan 2006", group: ",", decimals: ".",
	},
	merchants.Spanish: {
		receipt: "Comprobante de liquidación", sandbox: "PRUEBAS - SIN DINERO REAL", merchant: "Comercio", settlement: "Liquidación",
		period: "Periodo", closed: "Cierre", environment: "Entorno", production: "Producción", testing: "Pruebas",
		summary: "Resumen", tax: "%s sobre comisiones", taxName: "Impuesto", taxPercent: "Impuesto en porcentaje", feeTax: "Impuesto sobre comisiones", gross: "Volumen bruto", platform: "Comisiones de plataforma", provider: "Comisiones de proveedor",
		network: "Comisiones de red", refunds: "Reembolsos", chargebacks: "Contracargos", chargebackFees: "Comisiones por contracargo",
		held: "Reserva retenida", released: "Reserva devuelta", adjustments: "Ajustes", net: "Importe neto", lines: "Detalle",
		more: "Las primeras %s de %s líneas. El informe CSV las contiene todas.", footer: "Importes en dólares estadounidenses. Horas en UTC.",
		page:   "Página %d de {n}",
		number: "N.º", date: "Fecha", kind: "Tipo", transaction: "Transacción", order: "Pedido", claim: "Reclamación",
		local: "Importe local", currency: "Moneda local", amount: "Importe", fees: "Comisiones", platformFee: "Comisión de plataforma",
		providerFee: "Comisión de proveedor", networkFee: "Comisión de red", chargebackFee: "Comisión por contracargo",
		reserve: "Reserva", adjustment: "Ajuste", lineNet: "Neto",
		kinds: map[pay.LineType]string{
			pay.LineCharge: "Cobro", pay.LineRefund: "Reembolso", pay.LineChargeback: "Contracargo",
			pay.LineRefundFee: "Com. reembolso", pay.LineChargebackFee: "Com. contracargo", pay.LineRelease: "Reserva liberada", pay.LineAdjustment: "Ajuste",
		},
		day: "02/01/2006", group: ",", decimals: ".",
	},
	merchants.Portuguese: {
		receipt: "Comprovante de liquidação", sandbox: "TESTES - SEM DINHEIRO REAL", merchant: "Lojista", settlement: "Liquidação",
		period: "Período", closed: "Fechamento", environment: "Ambiente", production: "Produção", testing: "Testes",
		summary: "Resumo", tax: "%s sobre tarifas", taxName: "Imposto", taxPercent: "Imposto em porcentagem", feeTax: "Imposto sobre tarifas", gross: "Volume bruto", platform: "Tarifas da plataforma", provider: "Tarifas do provedor",
		network: "Tarifas da rede", refunds: "Reembolsos", chargebacks: "Contestações", chargebackFees: "Tarifas de contestação",
		held: "Reserva retida", released: "Reserva devolvida", adjustments: "Ajustes", net: "Valor líquido", lines: "Detalhamento",
		more: "As primeiras %s de %s linhas. O relatório CSV contém todas.", footer: "Valores em dólares americanos. Horários em UTC.",
		page:   "Página %d de {n}",
		number: "N.º", date: "Data", kind: "Tipo", transaction: "Transação", order: "Pedido", claim: "Reclamação",
		local: "Valor local", currency: "Moeda local", amount: "Valor", fees: "Tarifas", platformFee: "Tarifa da plataforma",
		providerFee: "Tarifa do provedor", networkFee: "Tarifa da rede", chargebackFee: "Tarifa de contestação",
		reserve: "Reserva", adjustment: "Ajuste", lineNet: "Líquido",
		kinds: map[pay.LineType]string{
			pay.LineCharge: "Cobrança", pay.LineRefund: "Reembolso", pay.LineChargeback: "Contestação",
			pay.LineRefundFee: "Tarifa reembolso", pay.LineChargebackFee: "Tarifa contest.", pay.LineRelease: "Reserva liberada", pay.LineAdjustment: "Ajuste",
		},
		day: "02/01/2006", group: ".", decimals: ",",
	},
}

// in returns the texts in a language, English by default.
func in(language merchants.Language) words {
	if w, ok := dictionary[language]; ok {
		return w
	}
	return dictionary[merchants.English]
}

// money writes USD cents for people: 1,234.56.
func (w words) money(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%s%s%02d", sign, w.count(cents/100), w.decimals, cents%100)
}

// named writes a tax for people: IVA 16%.
func (w words) named(t merchants.TaxRate) string {
	return t.Name + " " + strings.Replace(t.Percent(), ".", w.decimals, 1) + "%"
}

// count writes a non-negative number for people: 1,234.
func (w words) count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString(w.group)
		}
		b.WriteRune(d)
	}
	return b.String()
}

func (w words) moment(t time.Time) string { return t.UTC().Format(w.day + " 15:04") }
