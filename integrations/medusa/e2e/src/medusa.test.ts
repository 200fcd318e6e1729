import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import type { Payment } from "@cascadapay/sdk";
import puppeteer from "puppeteer-core";
import { Refused, Shop, type Order } from "./shop.js";
import { until, World, type Merchant } from "./world.js";

const [shopDir, binary, chromium] = [process.env["SHOP_DIR"] ?? "", process.env["CASCADA_BINARY"] ?? "", process.env["CHROMIUM"] ?? "chromium"];
const world = new World(shopDir, binary);
const shop = new Shop(world);

before(async () => {
  await world.start();
  await shop.seed();
});
after(async () => {
  if (process.env["SHOW_LOG"]) console.log(world.log("medusa"));
  await world.stop();
});

/** Chooses a method in a checkout, as the shopper does on its page. */
async function choose(session: Record<string, any>, method: string, of: Merchant = world.shop): Promise<string> {
  const token = new URL(session["data"].checkout_url).pathname.split("/").at(-1) ?? "";
  return (await of.api.selectCheckoutMethod(token, { paymentMethodId: method, customer: { documentId: "52998224725" } })).transactionId;
}

/** Opens another checkout of the same payment session, as the service's page does for another try: it has no metadata. */
async function anotherTry(session: Record<string, any>): Promise<Record<string, any>> {
  const made = await world.shop.api.createCheckoutSession({
    amount: session["data"].amount, currency: session["data"].currency, merchantOrderId: session["id"],
    customer: { firstName: "Ana", lastName: "Souza", email: "ana@example.com", phone: "+5511912345678" },
  });
  return { ...session, data: { ...session["data"], checkout_url: made.checkoutUrl } };
}

async function paymentsOf(session: Record<string, any>, of: Merchant = world.shop): Promise<Payment[]> {
  return (await of.api.listPayments({ merchantOrderId: session["id"] })).data;
}

/** Sends an event to Medusa as the service does. */
function deliver(body: string, signature: string): Promise<Response> {
  return fetch(`${world.medusa}/hooks/payment/cascada_cascada`, { method: "POST", body, headers: { "Content-Type": "application/json", "X-Service-Signature": signature } });
}

function signed(body: string): string {
  const seconds = Math.floor(Date.now() / 1000);
  return `t=${seconds},v1=${createHmac("sha256", world.shop.webhookSecret).update(`${seconds}.${body}`).digest("hex")}`;
}

async function refused(call: () => Promise<unknown>): Promise<Refused> {
  try {
    await call();
  } catch (e) {
    if (e instanceof Refused) return e;
    throw e;
  }
  assert.fail("it was not refused");
}

/** Runs f while no webhook arrives, as when Medusa is away for longer than the service repeats deliveries. */
async function withoutWebhooks<T>(f: () => Promise<T>): Promise<T> {
  await world.shop.api.updateWebhook(world.shop.webhookId, { status: "disabled" });
  try {
    return await f();
  } finally {
    await world.shop.api.updateWebhook(world.shop.webhookId, { status: "enabled" });
  }
}

/** A cart that was paid by a method, and its order. */
async function bought(method = "sbx_card", currency = "usd", sku = "shirt"): Promise<{ order: Order; payment: Payment; session: Record<string, any> }> {
  const cart = await shop.cart({ currency, sku });
  const session = await cart.pay();
  const id = await choose(session, method);
  if (method !== "sbx_card") await world.shop.api.simulatePayment(id, { action: "paid" });
  const order = await cart.paidOrder();
  return { order, payment: (await paymentsOf(session))[0]!, session };
}

test("a shopper pays by card in a browser, comes back, and the order is captured", async () => {
  const cart = await shop.cart();
  const session = await cart.pay();
  assert.equal(session["status"], "pending");
  assert.equal(session["data"].amount, "25.00");
  const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const page = await browser.newPage();
    await page.goto(session["data"].checkout_url);
    await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
    await page.click("label[for=m-sbx_card]");
    await Promise.all([page.waitForNavigation(), page.click(".go button")]);
    await page.waitForSelector("section.state.paid, section.state.completed, p.back a");
    await Promise.all([page.waitForNavigation(), page.click("p.back a")]);
    assert.equal(await page.$eval("#back", (p) => p.textContent), "Thank you");
  } finally {
    await browser.close();
  }
  const back = world.back.at(-1)!;
  assert.equal(back.searchParams.get("cart"), cart.id);
  assert.equal(back.searchParams.get("status"), "completed");
  const made = await cart.complete();
  const order = await cart.paidOrder();
  assert.deepEqual([made.order, order.total, order.paid, order.captures], [order.id, 25, 25, 1]);
  assert.equal(order.data["transaction_id"], back.searchParams.get("transactionId"));
});

test("a shopper pays and does not come back: the webhook makes the order; the webhook comes again: nothing changes", async () => {
  const { order, payment } = await bought();
  const [event] = (await world.shop.api.listEvents({ objectId: payment.id, type: "payment.completed" })).data;
  const body = JSON.stringify(event);
  for (let i = 0; i < 3; i++) assert.equal((await deliver(body, signed(body))).status, 200);
  await bought(); // Medusa works on deliveries in their order
  const again = await shop.order(order.id);
  assert.deepEqual([again.paid, again.captures], [25, 1]);
});

test("a delivery with a wrong signature is refused with 401, and does nothing", async () => {
  const cart = await shop.cart();
  const session = await cart.pay();
  const event = JSON.stringify({ id: "evt_1", type: "payment.completed", data: { object: { id: "TXN-1", merchantOrderId: session["id"], status: "completed", amount: 25, currency: "USD" } } });
  const seconds = Math.floor(Date.now() / 1000);
  for (const signature of ["", `t=${seconds},v1=${"0".repeat(64)}`, "nonsense"]) assert.equal((await deliver(event, signature)).status, 401);
  assert.equal((await cart.complete()).status, "requires_more");
  assert.equal(await cart.order(), undefined);
});

test("a voucher is paid later: the cart waits, and becomes an order when the money is there", async () => {
  const cart = await shop.cart();
  const session = await cart.pay();
  const id = await choose(session, "sbx_cash");
  assert.equal((await cart.complete()).status, "requires_more");
  assert.equal((await cart.sessions())[0]!["data"].transaction_status, "pending");
  await world.shop.api.simulatePayment(id, { action: "paid" });
  const order = await cart.paidOrder();
  assert.deepEqual([order.paid, order.captures], [25, 1]);
});

test("with pendingOrders a voucher makes an unpaid order at once, which is captured when it is paid", async () => {
  const cart = await shop.cart();
  const session = await cart.pay("pp_cascada_later");
  const id = await choose(session, "sbx_cash", world.later);
  const made = await cart.complete();
  assert.ok(made.order);
  assert.notEqual((await cart.order())?.payment_status, "captured");
  await world.later.api.simulatePayment(id, { action: "paid" });
  const order = await cart.paidOrder();
  assert.deepEqual([order.id, order.paid, order.captures], [made.order, 25, 1]);
});

test("an order that waits for its voucher is canceled: so is the payment", async () => {
  const cart = await shop.cart();
  const session = await cart.pay("pp_cascada_later");
  const id = await choose(session, "sbx_cash", world.later);
  const { order } = await cart.complete();
  await shop.call("POST", `/admin/orders/${order}/cancel`);
  const payment = await until("the payment is canceled", async () => (await paymentsOf(session, world.later)).find((p) => p.id === id && p.status === "failed"));
  assert.equal(payment.failure?.code, "canceled");
});

test("the voucher of an unpaid order expires: the merchant is told", async () => {
  const cart = await shop.cart();
  const session = await cart.pay("pp_cascada_later");
  const id = await choose(session, "sbx_cash", world.later);
  const { order = "" } = await cart.complete();
  await world.later.api.simulatePayment(id, { action: "expired" });
  await shop.told("not paid", order, id);
});

test("a card is refused, and the shopper pays in another try", async () => {
  const cart = await shop.cart({ sku: "refused" });
  const session = await cart.pay();
  await assert.rejects(choose(session, "sbx_card"), { code: "card_declined" });
  assert.equal((await cart.complete()).status, "error");
  const [failed] = await cart.sessions();
  assert.deepEqual([failed!["status"], failed!["data"].failure_code], ["error", "card_declined"]);
  const next = await cart.pay();
  assert.notEqual(next["data"].checkout_url, session["data"].checkout_url);
  const id = await choose(next, "sbx_pix");
  await world.shop.api.simulatePayment(id, { action: "paid" });
  const order = await cart.paidOrder();
  assert.equal(order.paid, 10.05);
});

test("two partial refunds in the cart's currency, then the rest; more is refused", async () => {
  const { order, payment } = await bought("sbx_pix", "brl");
  assert.deepEqual([payment.amountLocal, payment.currencyLocal], ["100", "BRL"]);
  await shop.refund(order.paymentId, 10.1);
  await shop.refund(order.paymentId, 20.25);
  const [part] = await paymentsOf({ id: payment.merchantOrderId });
  assert.equal(part?.refundedAmountLocal, "30.35");
  const tooMuch = await refused(() => shop.refund(order.paymentId, 69.66));
  assert.equal(tooMuch.status, 400);
  await shop.refund(order.paymentId, 69.65);
  const [whole] = await paymentsOf({ id: payment.merchantOrderId });
  assert.deepEqual([whole?.refundedAmountLocal, whole?.refundableAmountLocal], ["100", "0"]);
});

test("a payment in another currency than the cart's is refunded in parts, and nothing is left", async () => {
  const { order, payment, session } = await bought("sbx_cash", "usd", "odd");
  assert.equal(payment.currencyLocal, "MXN");
  for (const part of [11.11, 11.11, 11.11]) await shop.refund(order.paymentId, part);
  const [whole] = await paymentsOf(session);
  assert.deepEqual([whole?.refundedAmountLocal, whole?.refundableAmountLocal], [payment.amountLocal, "0"]);
});

test("an order is canceled after it was paid: all is refunded", async () => {
  const { order, session } = await bought();
  await shop.call("POST", `/admin/orders/${order.id}/cancel`);
  const payment = await until("the refund", async () => (await paymentsOf(session)).find((p) => p.status === "refunded"));
  assert.equal(payment.refundableAmountLocal, "0");
});

test("the service is down while staff refund: an error, nothing is lost, and the next try pays once", async () => {
  const { order, session } = await bought();
  const down = await refused(() => world.proxy.while("down", "", () => shop.refund(order.paymentId, 5)));
  assert.match(down.body["message"], /Cascada/);
  const [before] = await paymentsOf(session);
  assert.equal(before?.refundedAmountLocal, "0");
  await shop.refund(order.paymentId, 5);
  const [after] = await paymentsOf(session);
  assert.equal(after?.refundedAmountLocal, "5");
});

test("the answer to a refund is lost: another amount is refused, the same amount is recorded and not paid again", async () => {
  const { order, session } = await bought();
  const lost = await refused(() => world.proxy.while("lose", "/refund", () => shop.refund(order.paymentId, 6)));
  assert.match(lost.body["message"], /not known/);
  const [between] = await paymentsOf(session);
  assert.equal(between?.refundedAmountLocal, "6");
  const other = await refused(() => shop.refund(order.paymentId, 7));
  assert.match(other.body["message"], /refund that amount first/);
  await shop.refund(order.paymentId, 6);
  await shop.refund(order.paymentId, 7);
  const [after] = await paymentsOf(session);
  assert.equal(after?.refundedAmountLocal, "13");
});

test("the answer to a new checkout is lost: the repeat has the same key, and opens none besides", async () => {
  const cart = await shop.cart();
  const from = world.proxy.seen.length;
  const session = await world.proxy.while("lose", "/checkout/sessions", () => cart.pay(), 1);
  const keys = world.proxy.seen.slice(from).filter((s) => s.path.startsWith("/api/v1/checkout/sessions")).map((s) => s.key);
  assert.equal(keys.length, 2);
  assert.equal(new Set(keys).size, 1);
  await choose(session, "sbx_card");
  await cart.paidOrder();
});

test("the service is down when the cart is completed: the payment is not called failed, and the order follows", async () => {
  const cart = await shop.cart();
  const session = await cart.pay();
  const unknown = await withoutWebhooks(async () => {
    await choose(session, "sbx_card");
    return world.proxy.while("down", "", () => cart.complete());
  });
  assert.equal(unknown.status, "requires_more");
  assert.ok((await cart.complete()).order);
  assert.equal((await cart.paidOrder()).captures, 1);
});

test("the service is down while the cart changes: it stays as it was, and can be paid", async () => {
  const cart = await shop.cart();
  const session = await cart.pay();
  const no = await world.proxy.while("down", "", () => refused(() => shop.add(cart)));
  assert.match(no.body["message"], /not known whether this cart was paid/);
  await choose(session, "sbx_card");
  assert.equal((await cart.paidOrder()).paid, 25);
});

test("no webhook arrives and the shopper does not come back: the job makes the order", async () => {
  const cart = await shop.cart();
  await withoutWebhooks(async () => {
    await choose(await cart.pay(), "sbx_card");
    assert.equal((await cart.paidOrder()).paid, 25);
  });
});

test("the cart changes: what waits is called off, and a new session has the new amount", async () => {
  const cart = await shop.cart();
  const old = await cart.pay();
  const id = await choose(old, "sbx_cash");
  await shop.add(cart);
  const [payment] = await paymentsOf(old);
  assert.deepEqual([payment?.id, payment?.failure?.code], [id, "canceled"]);
  const next = await cart.pay();
  assert.equal(next["data"].amount, "50.00");
  await choose(next, "sbx_card");
  assert.equal((await cart.paidOrder()).paid, 50);
});

test("nobody chooses in the checkout of a changed cart", async () => {
  const cart = await shop.cart();
  const old = await cart.pay();
  await shop.add(cart);
  await assert.rejects(choose(old, "sbx_card"), { code: "checkout_session_not_found" });
  await choose(await cart.pay(), "sbx_card");
  assert.equal((await cart.paidOrder()).paid, 50);
});

test("another try of a changed cart is paid all the same: the merchant is told of the money, and no order is paid by it", async () => {
  const cart = await shop.cart();
  const old = await anotherTry(await cart.pay());
  await shop.add(cart);
  const next = await cart.pay();
  const id = await choose(old, "sbx_card");
  await shop.told("Money without an order", id, "25");
  assert.equal(await cart.order(), undefined);
  await choose(next, "sbx_card");
  assert.equal((await cart.paidOrder()).paid, 50);
});

test("a cart that is paid cannot change before its order is made", async () => {
  const cart = await shop.cart();
  await withoutWebhooks(async () => {
    await choose(await cart.pay(), "sbx_card");
    const no = await refused(() => shop.add(cart));
    assert.match(no.body["message"], /is paid/);
    const again = await refused(() => cart.pay());
    assert.match(again.body["message"], /is paid/);
  });
  const order = await cart.paidOrder();
  assert.deepEqual([order.total, order.paid], [25, 25]);
});

test("code of the shop changes a session's amount: a new checkout, and the old one is ended; another try of it is paid: the merchant is told", async () => {
  const cart = await shop.cart();
  const session = await cart.pay();
  const other = await anotherTry(session);
  const update = async (amount: number) => (await shop.call("POST", `/test/payment-sessions/${session["id"]}`, { amount }))["session"];
  const changed = await update(30);
  assert.deepEqual([changed.data.amount, changed.data.checkouts], ["30.00", 2]);
  assert.notEqual(changed.data.checkout_url, session["data"].checkout_url);
  const same = await update(30);
  assert.equal(same.data.checkout_url, changed.data.checkout_url);
  await assert.rejects(choose(session, "sbx_card"), { code: "checkout_session_not_found" });
  const id = await choose(other, "sbx_card");
  await shop.told("Money without an order", id);
  assert.equal(await cart.order(), undefined);
  await refused(() => update(31));
});

test("two checkouts of one session are paid: one order, and the merchant is told", async () => {
  const cart = await shop.cart();
  const session = await cart.pay();
  const other = await anotherTry(session);
  const update = async (amount: number) => (await shop.call("POST", `/test/payment-sessions/${session["id"]}`, { amount }))["session"];
  await update(30);
  const third = await update(25);
  await choose(other, "sbx_card");
  const order = await cart.paidOrder();
  const second = await choose(third, "sbx_card");
  await shop.told("Paid twice", second, order.id);
  assert.equal((await cart.order())?.paid, 25);
});

test("the last piece is sold while the shopper pays: Medusa gives the money back, the merchant is told, and the shopper buys something else", async () => {
  const [first, second] = [await shop.cart({ sku: "last" }), await shop.cart({ sku: "last" })];
  const session = await second.pay();
  await choose(await first.pay(), "sbx_card");
  await first.paidOrder();
  const id = await choose(session, "sbx_card");
  await shop.told("Money without an order", id, "given back");
  assert.equal(await second.order(), undefined);
  const [payment] = await paymentsOf(session);
  assert.deepEqual([payment?.status, payment?.refundableAmountLocal], ["refunded", "0"]);
  assert.notEqual((await second.sessions())[0]?.["id"], session["id"]);
  await shop.clear(second);
  await shop.add(second);
  await choose(await second.pay(), "sbx_card");
  const order = await second.paidOrder("refunded"); // Medusa counts what the cart's first payment gave back
  assert.deepEqual([order.total, order.paid], [25, 25]);
});

test("the answer to the refund of all is lost: the same again is recorded and not paid again", async () => {
  const { order, session } = await bought();
  await refused(() => world.proxy.while("lose", "/refund", () => shop.refund(order.paymentId, 25)));
  await shop.refund(order.paymentId, 25);
  const [payment] = await paymentsOf(session);
  assert.deepEqual([payment?.refundedAmountLocal, (await shop.order(order.id)).refunds], ["25", [25]]);
});

test("a session needs the shopper's name, e-mail and phone, and a page of the storefront to come back to", async () => {
  const nameless = await shop.cart({ email: false });
  const no = await refused(() => nameless.pay());
  assert.match(no.body["message"], /firstName, lastName, email, phone/);
  const cart = await shop.cart();
  const elsewhere = await refused(() => cart.pay("pp_cascada_cascada", { return_url: "https://elsewhere.example/" }));
  assert.match(elsewhere.body["message"], /return_url/);
});

test("what staff refund in the service, and a dispute, are told in Medusa; what Medusa refunded is not; a refund that is refused is an error", async () => {
  const ours = await bought();
  await shop.refund(ours.order.paymentId, 4);
  const { payment } = await bought();
  await world.shop.api.refundPayment(payment.id, { amount: "3", reason: "other" });
  await shop.told("Refunded outside of Medusa", payment.id);
  assert.deepEqual((await shop.notifications()).filter((n) => n.includes(ours.payment.id)), []);
  const other = await bought();
  await world.shop.api.simulatePayment(other.payment.id, { action: "chargeback" });
  await shop.told("disputed", other.payment.id);
  const no = await refused(() => shop.refund(other.order.paymentId, 5));
  assert.equal(no.status, 400);
  assert.match(no.body["message"], /conflict_state/);
  assert.deepEqual((await shop.order(other.order.id)).refunds, []);
});

test("a provider refuses a refund after the service took it: the merchant is told", async () => {
  const { order, payment } = await bought();
  await world.restartCascada(...[1, 2, 3].flatMap((n) => ["--sandbox-fault", `sandbox-${n}=refund_decline`]));
  await shop.refund(order.paymentId, 8);
  await shop.told("A refund did not arrive", payment.id, "8 USD");
  assert.equal((await world.shop.api.getPayment(payment.id)).refundedAmountLocal, "0");
});
