// The pages that shoppers see. They show what the orders say and decide nothing.
import { decimal } from "@cascadapay/sdk";
import type { Cart } from "./carts.js";
import { isSku, maxQuantity, price, products, regions, type Line } from "./catalogue.js";
import { config } from "./config.js";
import { html, Html } from "./html.js";
import { showAmount } from "./money.js";
import { attention, modes, paidBy, refunded, status, type Customer, type Mode, type Order, type Status } from "./orders.js";
import { languages, productName, text, type Language, type Word } from "./texts.js";
import { importMap, type Reply } from "./web.js";

export interface View {
  language: Language;
  cart: Cart;
}

export function page(view: View, title: string, body: Html, options: { status?: number; scripts?: Html } = {}): Reply {
  const t = (word: Word) => text(word, view.language);
  const count = [...view.cart.items.values()].reduce((sum, quantity) => sum + quantity, 0);
  const all = html`<!doctype html>
<html lang="${view.language}">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${title} · ${t("shop")}</title>
<link rel="stylesheet" href="/assets/shop.css"><link rel="icon" href="/assets/icon.svg">
${options.scripts ?? ""}
</head>
<body>
<a class="skip" href="#main">${t("skip")}</a>
<header><a class="brand" href="/">${t("shop")}</a><nav aria-label="${t("shop")}"><a href="/">${t("catalogue")}</a> <a href="/cart">${t("cart")} <span class="count">${count}</span></a></nav></header>
<main id="main">${body}</main>
<footer>
<form method="post" action="/choice" class="choice">
<label>${t("country")} <select name="country">${Object.entries(regions).map(([code, r]) => html`<option value="${code}"${code === view.cart.country && html` selected`}>${r.name}, ${r.currency}</option>`)}</select></label>
<label>${t("language")} <select name="language">${Object.keys(languages).map((code) => html`<option value="${code}" lang="${code}"${code === view.language && html` selected`}>${names[code as Language]}</option>`)}</select></label>
<button>${t("show")}</button>
</form>
<p>${t("sandbox")}</p>
</footer>
</body>
</html>`;
  return { status: options.status ?? 200, body: all.text };
}

const names: Record<Language, string> = { en: "English", es: "Español", pt: "Português" };

/** Locales of the countries, for amounts. */
const locale = (language: Language, country: string) => `${language}-${country}`;

export function home(view: View): Reply {
  const t = (word: Word) => text(word, view.language);
  const { currency } = regions[view.cart.country];
  const cards = Object.entries(products).flatMap(([sku, product]) => (isSku(sku) ? [html`
<li class="card">
<img src="/assets/${sku}.svg" alt="" width="96" height="96">
<h2>${productName(sku, view.language)}</h2>
<p>${t(`${sku}_text`)}</p>
<p class="price">${showAmount(product.prices[currency], currency, locale(view.language, view.cart.country))}</p>
<form method="post" action="/cart/add"><input type="hidden" name="sku" value="${sku}"><button class="primary">${t("add")}<span class="hidden">: ${productName(sku, view.language)}</span></button></form>
</li>`] : []));
  return page(view, t("title_home"), html`<h1>${t("title_home")}</h1><ul class="cards">${cards}</ul>`);
}

/** What a shopper typed into the form, and what is wrong with it. */
export interface Filled {
  customer: Customer;
  mode: Mode;
  wrong: Set<string>;
  problem?: Word;
}

export function cart(view: View, filled: Filled, status = 200): Reply {
  const t = (word: Word) => text(word, view.language);
  if (view.cart.items.size === 0) return page(view, t("cart"), html`<h1>${t("cart")}</h1><p>${t("empty")}</p><p><a class="button" href="/">${t("keep_shopping")}</a></p>`, { status });
  const { lines, amount, currency } = price(view.cart.items, view.cart.country);
  const money = (of: string) => showAmount(of, currency, locale(view.language, view.cart.country));
  const field = (name: keyof Customer, type: string, complete: string) => html`
<p><label for="${name}">${t(name)}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${complete}" value="${filled.customer[name]}" required maxlength="120"${filled.wrong.has(name) && invalid(name)}>
${filled.wrong.has(name) && html`<span class="problem" id="${name}-wrong">${t(`wrong_${name}`)}</span>`}</p>`;
  return page(view, t("cart"), html`
<h1>${t("cart")}</h1>
${filled.problem && html`<p class="problem" role="alert">${t(filled.problem)}</p>`}
<form method="post" action="/cart">
<table><thead><tr><th scope="col">${t("product")}</th><th scope="col">${t("quantity")}</th><th scope="col" class="number">${t("sum")}</th></tr></thead>
<tbody>${lines.map((line) => html`<tr><th scope="row">${productName(line.sku, view.language)}</th>
<td><input name="${line.sku}" type="number" min="0" max="${maxQuantity}" value="${line.quantity}" aria-label="${t("quantity")}: ${productName(line.sku, view.language)}"></td>
<td class="number">${money(sumOf(line))}</td></tr>`)}</tbody>
<tfoot><tr><th scope="row" colspan="2">${t("total")}</th><td class="number total">${money(amount)}</td></tr></tfoot></table>
<p class="quiet">${t("remove_hint")}</p><button>${t("update")}</button>
</form>
<form method="post" action="/buy" class="buy">
<input type="hidden" name="cart" value="${view.cart.id}"><input type="hidden" name="seen" value="${currency} ${amount}">
<fieldset><legend>${t("your_data")}</legend>
${field("firstName", "text", "given-name")}${field("lastName", "text", "family-name")}${field("email", "email", "email")}${field("phone", "tel", "tel")}
</fieldset>
<fieldset><legend>${t("how")}</legend>
${modes.map((mode) => html`<p class="option"><input type="radio" id="mode-${mode}" name="mode" value="${mode}"${mode === filled.mode && html` checked`}><label for="mode-${mode}"><strong>${t(`mode_${mode}`)}</strong><span>${t(`mode_${mode}_text`)}</span></label></p>`)}
</fieldset>
<button class="primary">${t("buy")} · ${money(amount)}</button>
</form>`, { status });
}

const sumOf = (line: Line) => decimal.multiply(line.unitAmount, String(line.quantity));
const invalid = (name: string) => html` aria-invalid="true" aria-describedby="${name}-wrong"`;

/** The names of statuses that are a word of the form too. */
export const wordOf = (of: Status): Word => (of === "refused" ? "refused_status" : of);

/** The page of an order. It changes by itself: browser/live.ts reads it again whenever the order changes. */
export function order(view: View, of: Order): Reply {
  const t = (word: Word) => text(word, view.language);
  const now = status(of);
  const money = (amount: string) => showAmount(amount, of.currency, locale(view.language, of.country));
  const notes: Partial<Record<Status, Word>> = { waiting: "waiting_text", failed: "failed_text", held: "held_text", paid: "paid_text", canceled: "canceled_text" };
  const [paid] = paidBy(of);
  const back = paid && refunded(of, paid);
  return page(view, t(wordOf(now)), html`
<section id="order" data-live="/orders/${of.id}/live?version=${of.version}">
<div role="status"><h1 class="status ${now}">${t(wordOf(now))}</h1>
${notes[now] && !attention(of).includes("paid_canceled") && html`<p>${t(notes[now])}</p>`}
${attention(of).includes("paid_canceled") && html`<p>${t("paid_canceled")}</p>`}</div>
<dl><div><dt>${t("order")}</dt><dd class="id">${of.id.slice(0, 10)}</dd></div>
<div><dt>${t("total")}</dt><dd>${money(of.amount)}</dd></div>
${back && decimal.compare(back.approved, "0") > 0 && html`<div><dt>${t("given_back")}</dt><dd>${money(back.approved)}</dd></div>`}
${back && decimal.compare(back.under, "0") > 0 && html`<div><dt>${t("on_its_way_back")}</dt><dd>${money(back.under)}</dd></div>`}</dl>
<ul class="lines">${of.lines.map((line) => html`<li>${line.quantity} × ${productName(line.sku, view.language)}</li>`)}</ul>
<p class="actions">
${of.checkout && payable.includes(now) && html`<a class="button primary" href="${payAddress(of)}">${t(now === "failed" ? "try_again" : "pay_now")}</a>`}
${["opening", "open", "waiting", "failed"].includes(now) && html`<form method="post" action="/orders/${of.id}/cancel"><button>${t("cancel")}</button></form>`}
<a class="button" href="/">${t("back")}</a></p>
</section>`, { scripts: html`<script type="module" src="/assets/live.js"></script><noscript><meta http-equiv="refresh" content="10"></noscript>` });
}

/** Where a shopper pays an order. */
export function payAddress(of: Order): string {
  if (!of.checkout || !payable.includes(status(of))) return `/orders/${of.id}`;
  return of.mode === "redirect" ? of.checkout.url : `/orders/${of.id}/pay`;
}

const payable: Status[] = ["open", "waiting", "failed"];

/** The checkout inside of our page: browser/pay.ts. Without scripts there is the link. */
export function pay(view: View, of: Order, checkout: NonNullable<Order["checkout"]>): Reply {
  const t = (word: Word) => text(word, view.language);
  return page(view, t("choose"), html`
<h1>${t(of.mode === "own" ? "choose" : "pay_now")}</h1>
<p>${t("total")}: <strong>${showAmount(of.amount, of.currency, locale(view.language, of.country))}</strong></p>
<div id="pay" data-mode="${of.mode}" data-cascada="${config.cascada.url}" data-key="${config.cascada.publishableKey}" data-session="${checkout.sessionId}"
 data-checkout="${checkout.url}" data-order="/orders/${of.id}" data-close="${t("close")}" data-live="/orders/${of.id}/live?version=${of.version}">
<noscript><p>${t("needs_script")}</p></noscript>
<p class="problem" role="alert" hidden>${t("choice_failed")}</p>
${of.mode === "window" && html`<button type="button" class="primary">${t("pay_open")}</button>`}
${of.mode === "own" && html`<form hidden><fieldset><legend class="hidden">${t("choose")}</legend><div class="options"></div></fieldset>
<p class="document" hidden><label for="document">${t("your_document")}</label><input id="document" autocomplete="off" maxlength="40"></p>
<button class="primary">${t("go_on")}</button></form>`}
</div>
<p class="actions"><a href="${checkout.url}">${t("pay_page")}</a> <a href="/orders/${of.id}">${t("order")}</a></p>`, {
    scripts: html`<script type="importmap">${new Html(importMap)}</script><script src="${config.cascada.url}/cascada.js"></script><script type="module" src="/assets/pay.js"></script>`,
  });
}

export function problem(view: View, status: number): Reply {
  const words: Record<number, Word> = { 403: "error_403", 404: "error_404", 503: "error_503" };
  const says = text(words[status] ?? "error_other", view.language);
  return page(view, says, html`<h1>${says}</h1><p><a class="button" href="/">${text("back", view.language)}</a></p>`, { status });
}
