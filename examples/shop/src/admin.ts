// The staff's pages: orders, refunds, cancellations. Your shop has its own sign-in; here it is one password.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { html } from "./html.js";
import { readAmount, showAmount } from "./money.js";
import { attention, paidBy, refunded, status, type Order, type Payment, type Refund } from "./orders.js";
import { page, wordOf, type View } from "./pages.js";
import type { Payments } from "./payments.js";
import { productName, text, type Language, type Word } from "./texts.js";
import { Refused, type Call, type Reply } from "./web.js";

/** Throws unless the request has the staff's password. */
export function onlyStaff(call: Call, password: string): void {
  const given = Buffer.from((call.request.headers.authorization ?? "").replace(/^Basic /i, ""), "base64").toString();
  const digest = (of: string) => createHash("sha256").update(of).digest(); // one length, so that the time says nothing
  if (!timingSafeEqual(digest(given.slice(given.indexOf(":") + 1)), digest(password))) throw new Refused(401, { "WWW-Authenticate": 'Basic realm="shop"' });
}

const money = (order: Order, amount: string, language: Language) => showAmount(amount, order.currency, `${language}-${order.country}`);

export function orders(view: View, all: Order[]): Reply {
  const t = (word: Word) => text(word, view.language);
  return page(view, t("admin"), html`<h1>${t("admin")}</h1>
${all.length === 0 && html`<p>${t("no_orders")}</p>`}
${all.length > 0 && html`<div class="wide" tabindex="0" role="region" aria-label="${t("admin")}"><table><thead><tr><th scope="col">${t("order")}</th><th scope="col">${t("placed_at")}</th><th scope="col">${t("customer")}</th><th scope="col">${t("status")}</th><th scope="col" class="number">${t("total")}</th></tr></thead>
<tbody>${all.map((order) => html`<tr><th scope="row"><a class="id" href="/admin/orders/${order.id}">${order.id.slice(0, 10)}</a></th><td>${date(order.placedAt, view.language)}</td>
<td>${order.customer.firstName} ${order.customer.lastName}</td><td>${t(wordOf(status(order)))}${attention(order).map((word) => html` <strong class="problem">${t(word)}</strong>`)}</td><td class="number">${money(order, order.amount, view.language)}</td></tr>`)}</tbody></table></div>`}`);
}

const date = (at: string, language: Language) => new Date(at).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });

export function order(view: View, of: Order, problem?: Word): Reply {
  const t = (word: Word) => text(word, view.language);
  const name = `${of.customer.firstName} ${of.customer.lastName}`;
  return page(view, t("order"), html`
<p><a href="/admin">${t("admin")}</a></p>
<section id="order" data-live="/orders/${of.id}/live?version=${of.version}">
<h1>${t("order_of")} ${name}</h1>
<p role="status" class="status ${status(of)}">${t(wordOf(status(of)))}</p>
${attention(of).map((word) => html`<p class="problem">${t(word)}</p>`)}
${problem && html`<p class="problem" role="alert">${t(problem)}</p>`}
<dl><div><dt>${t("order")}</dt><dd class="id">${of.id}</dd></div><div><dt>${t("placed_at")}</dt><dd>${date(of.placedAt, view.language)}</dd></div>
<div><dt>${t("customer")}</dt><dd>${name}<br>${of.customer.email}<br>${of.customer.phone}</dd></div>
<div><dt>${t("total")}</dt><dd>${money(of, of.amount, view.language)}</dd></div><div><dt>${t("mode")}</dt><dd>${t(`mode_${of.mode}`)}</dd></div></dl>
<ul class="lines">${of.lines.map((line) => html`<li>${line.quantity} × ${productName(line.sku, view.language)}</li>`)}</ul>
<h2>${t("payments")}</h2>
<ul class="lines">${[...of.payments.values()].map((p) => html`<li>${p.method} · ${p.status}${p.failure && html` (${p.failure})`} · ${showAmount(p.amount, p.currency, view.language)} · <span class="id">${p.id}</span></li>`)}</ul>
${of.payments.size === 0 && html`<p>${t("none")}</p>`}
<h2>${t("refunds")}</h2>
<ul class="lines">${[...of.refunds.values()].map((refund) => html`<li>${money(of, refund.amount, view.language)} · ${stateOf(of, refund, view.language)} · ${refund.reason}</li>`)}</ul>
${of.refunds.size === 0 && html`<p>${t("none")}</p>`}
${paidBy(of).map((payment) => refundForm(of, payment, view.language))}
${["opening", "open", "waiting", "failed"].includes(status(of)) && html`<form method="post" action="/admin/orders/${of.id}/cancel"><button>${t("cancel")}</button></form>`}
</section>`, { scripts: html`<script type="module" src="/assets/live.js"></script>`, status: problem ? 422 : 200 });
}

function stateOf(of: Order, refund: Refund, language: Language): string {
  const outcome = refund.claimId && of.claims.get(refund.claimId)?.outcome;
  if (refund.refusal) return `${text("refund_refused", language)} (${refund.refusal})`;
  if (outcome) return text(outcome === "approved" ? "refund_approved" : "refund_rejected", language);
  return text(refund.claimId ? "refund_under" : "refund_asked", language);
}

function refundForm(of: Order, payment: Payment, language: Language) {
  const { left } = refunded(of, payment);
  if (readAmount(left, of.currency) === undefined) return false;
  return html`<form method="post" action="/admin/orders/${of.id}/refund" class="refund">
<input type="hidden" name="refund" value="r-${randomBytes(16).toString("hex")}"><input type="hidden" name="payment" value="${payment.id}">
<p><label for="amount-${payment.id}">${text("refund_amount", language)} (${text("left", language)}: ${money(of, left, language)})</label> <input id="amount-${payment.id}" name="amount" inputmode="decimal" autocomplete="off"></p>
<p><label for="reason-${payment.id}">${text("reason", language)}</label> <input id="reason-${payment.id}" name="reason" value="requested_by_customer" maxlength="200"></p>
<button>${text("refund", language)}</button></form>`;
}

/** Refunds what the form says. The word of what is wrong with it, or undefined. */
export async function refund(payments: Payments, of: Order, form: URLSearchParams): Promise<Word | undefined> {
  const id = form.get("refund") ?? "";
  const payment = paidBy(of).find((p) => p.id === form.get("payment"));
  const typed = form.get("amount")?.trim() ?? "";
  if (!/^r-[0-9a-f]{32}$/.test(id) || !payment) throw new Refused(400);
  if (of.refunds.has(id)) return undefined; // the second click
  const amount = readAmount(typed === "" ? refunded(of, payment).left : typed, of.currency);
  if (!amount) return "refund_wrong";
  const asked: Refund = { id, paymentId: payment.id, amount, reason: (form.get("reason") ?? "").slice(0, 200), at: new Date().toISOString() };
  return (await payments.refund(of, asked)) === "too_much" ? "refund_wrong" : undefined;
}
