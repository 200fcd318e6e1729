package catalog

import "github.com/cascadapay/cascada/internal/money"

// The columns of every table here:
//
//	key, method, name, limits in major units, fee (bps, US cents), window, document
//
// A comment above a row says where a bound comes from when it is a rule rather
// than a habit.

// brands is the name of a country's card rail: the brands that every acquirer there
// accepts. Local brands are rails of their own, because few providers reach them.
const brands = "Visa, Mastercard, American Express"

func argentina() market {
	ars := in(money.ARS)
	return market{"ARG", []row{
		{"bank.transferencias3.ARG", "bank_transfer", "Transferencias 3.0", ars(100, 10_000_000), fee(120, 0), day, ""},
		{"bank.debin.ARG", "bank_transfer", "DEBIN", ars(100, 5_000_000), fee(150, 0), day, "CUIT"},
		{"wallet.mercadopago.ARG", "wallet", "Mercado Pago", ars(100, 5_000_000), fee(399, 0), inApp, ""},
		{"wallet.modo.ARG", "wallet", "MODO", ars(100, 2_000_000), fee(180, 0), inApp, ""},
		{"cash.rapipago.ARG", "cash", "Rapipago", ars(500, 1_000_000), fee(350, 0), 5 * day, "DNI"},
		{"cash.pagofacil.ARG", "cash", "Pago Fácil", ars(500, 1_000_000), fee(350, 0), 5 * day, "DNI"},
		{"cash.provincianet.ARG", "cash", "Provincia NET Pagos", ars(500, 500_000), fee(350, 0), 5 * day, "DNI"},
		{"card.ARG", "card", brands, ars(100, 10_000_000), fee(420, 10), threeDS, "DNI"},
		{"card.naranja.ARG", "card", "Naranja X", ars(100, 5_000_000), fee(450, 10), threeDS, "DNI"},
		{"card.cabal.ARG", "card", "Cabal", ars(100, 5_000_000), fee(450, 10), threeDS, "DNI"},
	}}
}

func bolivia() market {
	bob := in("BOB")
	return market{"BOL", []row{
		{"bank.qrsimple.BOL", "bank_transfer", "QR Simple", bob(1, 13_500), fee(150, 0), day, "CI"},
		{"bank.ach.BOL", "bank_transfer", "ACH Bolivia", bob(10, 35_000), fee(150, 20), day, "CI"},
		{"wallet.tigomoney.BOL", "wallet", "Tigo Money", bob(5, 5_000), fee(300, 0), inApp, ""},
		{"cash.pagosnet.BOL", "cash", "PagosNet", bob(10, 7_000), fee(350, 20), 3 * day, "CI"},
		{"cash.multipago.BOL", "cash", "Multipago", bob(10, 7_000), fee(350, 20), 3 * day, "CI"},
		{"card.BOL", "card", "Visa, Mastercard", bob(10, 35_000), fee(450, 20), threeDS, ""},
	}}
}

func brazil() market {
	brl := in(money.BRL)
	return market{"BRA", []row{
		// Pix has no ceiling of its own; the shopper's bank has.
		{"pix.BRA", "pix", "Pix", brl(1, 500_000), fee(99, 0), day, "CPF"},
		{"wallet.mercadopago.BRA", "wallet", "Mercado Pago", brl(1, 50_000), fee(399, 0), inApp, "CPF"},
		{"wallet.picpay.BRA", "wallet", "PicPay", brl(1, 50_000), fee(320, 0), inApp, "CPF"},
		{"wallet.nupay.BRA", "wallet", "NuPay", brl(1, 56_000), fee(280, 0), inApp, "CPF"},
		{"wallet.pagbank.BRA", "wallet", "PagBank", brl(1, 30_000), fee(320, 0), inApp, "CPF"},
		{"cash.loterica.BRA", "cash", "Lotéricas Caixa", brl(4, 2_000), fee(0, 90), 3 * day, "CPF"},
		{"boleto.BRA", "boleto", "Boleto bancário", brl(5, 49_999), fee(0, 65), 3 * day, "CPF"},
		{"card.BRA", "card", brands, brl(1, 50_000), fee(399, 10), threeDS, "CPF"},
		{"card.elo.BRA", "card", "Elo", brl(1, 50_000), fee(399, 10), threeDS, "CPF"},
		{"card.hipercard.BRA", "card", "Hipercard", brl(1, 50_000), fee(429, 10), threeDS, "CPF"},
	}}
}

func chile() market {
	clp := in(money.CLP)
	return market{"CHL", []row{
		{"bank.khipu.CHL", "bank_transfer", "Khipu", clp(1_000, 5_000_000), fee(150, 0), day, "RUT"},
		// The most that can be sent between banks at once.
		{"bank.tef.CHL", "bank_transfer", "Transferencia electrónica (TEF)", clp(1_000, 7_000_000), fee(100, 20), day, "RUT"},
		{"wallet.mercadopago.CHL", "wallet", "Mercado Pago", clp(1_000, 2_000_000), fee(319, 0), inApp, ""},
		{"wallet.mach.CHL", "wallet", "MACH", clp(500, 1_000_000), fee(250, 0), inApp, ""},
		{"cash.servipag.CHL", "cash", "Servipag", clp(1_000, 500_000), fee(290, 20), 5 * day, "RUT"},
		{"cash.sencillito.CHL", "cash", "Sencillito", clp(1_000, 3_000_000), fee(290, 20), 5 * day, "RUT"},
		{"cash.expresslider.CHL", "cash", "Express Líder", clp(1_000, 3_000_000), fee(290, 20), 5 * day, "RUT"},
		{"cash.cajavecina.CHL", "cash", "CajaVecina", clp(1_000, 8_500_000), fee(290, 20), 5 * day, "RUT"},
		{"card.CHL", "card", brands, clp(1_000, 10_000_000), fee(329, 10), threeDS, ""},
		{"card.webpay.CHL", "card", "Webpay (Redcompra)", clp(1_000, 10_000_000), fee(295, 10), threeDS, ""},
	}}
}

func colombia() market {
	cop := in(money.COP)
	return market{"COL", []row{
		// At most 1,000 UVB, a unit that is set each year; this is 2025's.
		{"bank.breb.COL", "bank_transfer", "Bre-B", cop(1_000, 11_552_000), fee(100, 0), inApp, ""},
		{"bank.pse.COL", "bank_transfer", "PSE", cop(1_600, 100_000_000), fee(199, 20), day, "CC"},
		{"bank.bancolombia.COL", "bank_transfer", "Botón Bancolombia", cop(1_500, 20_000_000), fee(199, 20), day, "CC"},
		{"wallet.nequi.COL", "wallet", "Nequi", cop(1_000, 5_000_000), fee(220, 10), inApp, ""},
		{"wallet.daviplata.COL", "wallet", "DaviPlata", cop(1_600, 3_500_000), fee(220, 10), inApp, "CC"},
		{"cash.efecty.COL", "cash", "Efecty", cop(20_000, 6_000_000), fee(299, 20), 3 * day, "CC"},
		{"cash.baloto.COL", "cash", "Baloto", cop(3_000, 1_000_000), fee(299, 20), 3 * day, "CC"},
		{"cash.gana.COL", "cash", "Gana", cop(3_000, 3_000_000), fee(299, 20), 3 * day, "CC"},
		{"cash.sured.COL", "cash", "SuRed", cop(3_000, 3_000_000), fee(299, 20), 3 * day, "CC"},
		{"card.COL", "card", brands, cop(1_000, 50_000_000), fee(349, 20), threeDS, "CC"},
		{"card.codensa.COL", "card", "Codensa", cop(5_000, 10_000_000), fee(349, 20), threeDS, "CC"},
	}}
}

func costaRica() market {
	crc, usd := in("CRC"), in(money.USD)
	return market{"CRI", []row{
		// The highest daily cap of the large banks; many have less.
		{"bank.sinpemovil.CRI", "bank_transfer", "SINPE Móvil", crc(500, 500_000), fee(150, 0), day, "CI"},
		{"bank.sinpe.CRI", "bank_transfer", "SINPE", crc(500, 10_000_000), fee(150, 20), day, "CI"},
		{"cash.paycash.CRI", "cash", "PayCash", crc(1_000, 300_000), fee(350, 30), 3 * day, "CI"},
		{"card.CRI", "card", brands, both(crc(500, 5_000_000), usd(1, 10_000)), fee(399, 20), threeDS, ""},
	}}
}

func dominicanRepublic() market {
	dop, usd := in("DOP"), in(money.USD)
	return market{"DOM", []row{
		{"bank.alinstante.DOM", "bank_transfer", "Pagos al Instante BCRD", dop(50, 500_000), fee(150, 50), day, ""},
		{"cash.bancopopular.DOM", "cash", "Banco Popular", dop(100, 60_000), fee(350, 30), 3 * day, ""},
		{"card.DOM", "card", brands, both(dop(50, 600_000), usd(1, 10_000)), fee(429, 20), threeDS, ""},
	}}
}

func ecuador() market {
	usd := in(money.USD)
	return market{"ECU", []row{
		{"bank.pichincha.ECU", "bank_transfer", "Banco Pichincha", usd(1, 10_000), fee(250, 0), day, "CI"},
		{"bank.guayaquil.ECU", "bank_transfer", "Banco Guayaquil", usd(1, 10_000), fee(250, 0), day, "CI"},
		{"wallet.deuna.ECU", "wallet", "Deuna", usd(1, 500), fee(200, 0), inApp, ""},
		{"wallet.payphone.ECU", "wallet", "PayPhone", usd(1, 3_000), fee(500, 0), inApp, ""},
		{"cash.facilito.ECU", "cash", "Facilito", usd(5, 300), fee(350, 20), 3 * day, "CI"},
		{"cash.mivecino.ECU", "cash", "Pichincha Mi Vecino", usd(1, 10_000), fee(350, 20), 3 * day, "CI"},
		{"cash.bancodelbarrio.ECU", "cash", "Banco del Barrio", usd(1, 500), fee(350, 20), 3 * day, "CI"},
		{"cash.westernunion.ECU", "cash", "Western Union", usd(1, 300), fee(350, 20), 3 * day, "CI"},
		{"card.ECU", "card", brands + ", Diners Club", usd(1, 10_000), fee(449, 15), threeDS, ""},
	}}
}

func guatemala() market {
	gtq, usd := in("GTQ"), in(money.USD)
	return market{"GTM", []row{
		{"bank.ach.GTM", "bank_transfer", "ACH Guatemala", gtq(10, 75_000), fee(180, 30), day, ""},
		{"wallet.tigomoney.GTM", "wallet", "Tigo Money", gtq(5, 5_000), fee(300, 0), inApp, ""},
		{"cash.bancoantigua.GTM", "cash", "Banco de Antigua", gtq(10, 7_500), fee(350, 30), 3 * day, ""},
		{"card.GTM", "card", brands, both(gtq(5, 75_000), usd(1, 10_000)), fee(449, 20), threeDS, ""},
	}}
}

func honduras() market {
	hnl, usd := in("HNL"), in(money.USD)
	return market{"HND", []row{
		{"bank.achpronto.HND", "bank_transfer", "ACH Pronto", hnl(50, 250_000), fee(180, 50), day, ""},
		{"wallet.tigomoney.HND", "wallet", "Tigo Money", hnl(20, 10_000), fee(300, 0), inApp, ""},
		{"cash.tengo.HND", "cash", "TENGO", hnl(50, 10_000), fee(350, 30), 3 * day, ""},
		{"card.HND", "card", brands, both(hnl(25, 250_000), usd(1, 10_000)), fee(449, 20), threeDS, ""},
	}}
}

func mexico() market {
	mxn := in(money.MXN)
	return market{"MEX", []row{
		// It asks for the RFC because the sandbox does.
		{"spei.MEX", "spei", "SPEI", mxn(10, 1_000_000), fee(0, 50), day, "RFC"},
		// The most that Banco de México allows.
		{"bank.codi.MEX", "bank_transfer", "CoDi", mxn(1, 8_000), fee(50, 0), inApp, ""},
		{"wallet.mercadopago.MEX", "wallet", "Mercado Pago", mxn(5, 50_000), fee(349, 20), inApp, ""},
		{"cash.oxxo.MEX", "oxxo", "OXXO", mxn(10, 10_000), fee(390, 0), 3 * day, ""},
		{"cash.7eleven.MEX", "cash", "7-Eleven", mxn(30, 10_000), fee(350, 0), 3 * day, ""},
		{"cash.circulok.MEX", "cash", "Círculo K", mxn(30, 6_000), fee(350, 0), 3 * day, ""},
		{"cash.farmaciasahorro.MEX", "cash", "Farmacias del Ahorro", mxn(30, 5_000), fee(350, 0), 3 * day, ""},
		{"cash.walmart.MEX", "cash", "Walmart, Bodega Aurrera", mxn(30, 10_000), fee(350, 0), 3 * day, ""},
		{"cash.bbva.MEX", "cash", "BBVA", mxn(30, 20_000), fee(350, 0), 3 * day, ""},
		{"cash.banamex.MEX", "cash", "Banamex", mxn(30, 10_000), fee(350, 0), 3 * day, ""},
		{"voucher.paynet.MEX", "voucher", "Paynet", mxn(10, 29_999), fee(290, 15), 7 * day, ""},
		{"voucher.paycash.MEX", "voucher", "PayCash", mxn(10, 10_000), fee(290, 15), 7 * day, ""},
		{"card.MEX", "card", brands, mxn(5, 200_000), fee(360, 15), threeDS, ""},
		{"card.carnet.MEX", "card", "Carnet", mxn(5, 100_000), fee(360, 15), threeDS, ""},
	}}
}

func panama() market {
	usd := in(money.USD)
	return market{"PAN", []row{
		{"bank.ach.PAN", "bank_transfer", "ACH Directo", usd(1, 10_000), fee(150, 30), day, ""},
		{"wallet.yappy.PAN", "wallet", "Yappy", usd(1, 1_000), fee(200, 0), inApp, ""},
		{"cash.puntopago.PAN", "cash", "Punto Pago", usd(1, 500), fee(350, 30), 3 * day, ""},
		{"cash.paycash.PAN", "cash", "PayCash", usd(1, 500), fee(350, 30), 3 * day, ""},
		{"card.PAN", "card", brands, usd(1, 10_000), fee(399, 20), threeDS, ""},
		{"card.clave.PAN", "card", "Clave", usd(1, 5_000), fee(299, 20), threeDS, ""},
	}}
}

func peru() market {
	pen, usd := in(money.PEN), in(money.USD)
	return market{"PER", []row{
		// The most that the clearing house (CCE) accepts.
		{"bank.cce.PER", "bank_transfer", "Transferencia inmediata (CCE)", pen(1, 30_000), fee(150, 30), day, "DNI"},
		{"bank.bcp.PER", "bank_transfer", "BCP", pen(1, 43_000), fee(250, 30), day, "DNI"},
		// The most an account may be set to send in a day.
		{"wallet.yape.PER", "wallet", "Yape", pen(1, 2_000), fee(295, 0), inApp, ""},
		{"wallet.plin.PER", "wallet", "Plin", pen(1, 1_500), fee(295, 0), inApp, ""},
		{"cash.pagoefectivo.PER", "cash", "PagoEfectivo", both(pen(5, 10_000), usd(2, 3_000)), fee(320, 20), 3 * day, "DNI"},
		{"cash.kasnet.PER", "cash", "KasNet", pen(5, 1_000), fee(350, 20), 3 * day, "DNI"},
		{"cash.tambo.PER", "cash", "Tambo", pen(5, 500), fee(350, 20), 3 * day, "DNI"},
		{"voucher.safetypay.PER", "voucher", "SafetyPay", both(pen(5, 43_000), usd(2, 10_000)), fee(350, 20), 3 * day, "DNI"},
		{"card.PER", "card", brands + ", Diners Club", both(pen(3, 40_000), usd(1, 10_000)), fee(379, 20), threeDS, ""},
	}}
}

func paraguay() market {
	pyg := in("PYG")
	return market{"PRY", []row{
		// The most that the central bank allows, since March 2026.
		{"bank.spi.PRY", "bank_transfer", "SPI", pyg(1_000, 10_000_000), fee(100, 20), day, "CI"},
		{"bank.sipap.PRY", "bank_transfer", "SIPAP", pyg(10_000, 200_000_000), fee(100, 50), day, "CI"},
		// A wallet may take three minimum wages a month.
		{"wallet.tigomoney.PRY", "wallet", "Tigo Money", pyg(5_000, 8_000_000), fee(330, 0), inApp, ""},
		{"wallet.personal.PRY", "wallet", "Billetera Personal", pyg(5_000, 8_000_000), fee(330, 0), inApp, ""},
		{"wallet.zimple.PRY", "wallet", "Zimple", pyg(5_000, 8_000_000), fee(330, 0), inApp, ""},
		{"cash.aquipago.PRY", "cash", "Aquí Pago", pyg(7_500, 5_000_000), fee(350, 20), 3 * day, "CI"},
		{"cash.pagoexpress.PRY", "cash", "Pago Express", pyg(7_500, 5_000_000), fee(350, 20), 3 * day, "CI"},
		{"cash.infonet.PRY", "cash", "Infonet", pyg(7_500, 5_000_000), fee(350, 20), 3 * day, "CI"},
		{"cash.wepa.PRY", "cash", "Wepa", pyg(7_500, 5_000_000), fee(350, 20), 3 * day, "CI"},
		{"card.PRY", "card", brands, pyg(7_500, 70_000_000), fee(449, 20), threeDS, ""},
	}}
}

func elSalvador() market {
	usd := in(money.USD)
	return market{"SLV", []row{
		{"bank.transfer365.SLV", "bank_transfer", "Transfer365", usd(1, 5_000), fee(150, 30), day, ""},
		{"wallet.tigomoney.SLV", "wallet", "Tigo Money", usd(1, 500), fee(300, 0), inApp, ""},
		{"cash.puntoxpress.SLV", "cash", "Punto Xpress", usd(1, 400), fee(350, 30), 3 * day, "DUI"},
		{"cash.akipago.SLV", "cash", "Aki Pago", usd(1, 500), fee(350, 30), 3 * day, "DUI"},
		{"card.SLV", "card", brands, usd(1, 10_000), fee(449, 20), threeDS, ""},
	}}
}

func uruguay() market {
	uyu, usd := in("UYU"), in(money.USD)
	return market{"URY", []row{
		{"wallet.mercadopago.URY", "wallet", "Mercado Pago", uyu(20, 150_000), fee(399, 0), inApp, ""},
		{"cash.abitab.URY", "cash", "Abitab", both(uyu(50, 100_000), usd(2, 2_500)), fee(390, 20), 5 * day, "CI"},
		{"cash.redpagos.URY", "cash", "Redpagos", both(uyu(50, 100_000), usd(2, 2_500)), fee(390, 20), 5 * day, "CI"},
		{"card.URY", "card", brands, both(uyu(20, 400_000), usd(1, 10_000)), fee(399, 20), threeDS, ""},
		{"card.oca.URY", "card", "OCA", uyu(20, 200_000), fee(420, 20), threeDS, ""},
	}}
}

// abroad is the card of a shopper from outside the region. Its country is the country of a
// payment that names none (PAY-16).
func abroad() market {
	usd := in(money.USD)
	return market{"USA", []row{
		{"card.USA", "card", brands, usd(1, 50_000), fee(399, 30), threeDS, ""},
	}}
}
