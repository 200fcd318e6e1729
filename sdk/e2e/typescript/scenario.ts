// The common scenario of the SDKs: each prints the same lines.
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { type ApiClient, attack, failure, line, shop } from "./attack.js";
import { decimal, type CreatedPayment, type Event, readWebhook, WebhookError } from "@cascadapay/sdk";

interface Received {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** receiver is a shop's endpoint: it keeps what comes, and next waits for the next delivery of a type. */
async function receiver() {
  const received: Received[] = [];
  let arrived = () => {};
  const server = createServer((request, reply) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      received.push({ headers: request.headers, body: Buffer.concat(parts) });
      reply.writeHead(204).end();
      arrived();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const next = async (type: string): Promise<Received> => {
    for (;;) {
      const at = received.findIndex((r) => r.headers["x-service-event"] === type);
      if (at >= 0) return received.splice(at, 1)[0] as Received;
      await new Promise<void>((resolve) => (arrived = resolve));
    }
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, next, close: () => server.close() };
}

const documents: Record<string, string> = { sbx_pix: "52998224725", sbx_spei: "GODE561231GR8" };

async function pay(api: ApiClient, method: string, amount: string, order: string): Promise<CreatedPayment> {
  const documentId = documents[method];
  return api.createPayment({ amount, paymentMethodId: method, merchantOrderId: order, ...(documentId === undefined ? {} : { documentId }) }, { idempotencyKey: order });
}

async function payments(api: ApiClient): Promise<CreatedPayment> {
  const made: CreatedPayment[] = [];
  for (const method of ["sbx_card", "sbx_cash", "sbx_pix", "sbx_pse", "sbx_spei"]) {
    const p = await pay(api, method, "25.50", `order-${method}`);
    made.push(p);
    line("payment", method, p.status, p.amount, p.currency, p.amountLocal, p.currencyLocal, p.fxRate, "fees", p.fees.total, "reserve", p.settlement.reserve);
  }
  const card = made[0] as CreatedPayment;
  let replayed = false;
  const again = await api.createPayment(
    { amount: "25.50", paymentMethodId: "sbx_card", merchantOrderId: "order-sbx_card" },
    { idempotencyKey: "order-sbx_card", onReply: (reply) => (replayed = reply.replayed) },
  );
  line("repeat", again.transactionId === card.transactionId, replayed);
  await failure("conflict", () => pay(api, "sbx_card", "26", "order-sbx_card"));
  await failure("declined", () => pay(api, "sbx_card", "10.05", "order-declined"));
  await failure("invalid", () => api.createPayment({ amount: "-1", paymentMethodId: "sbx_card", userEmail: "nobody" }));
  await failure("limits", () => pay(api, "sbx_cash", "0.01", "order-limits"));
  await failure("missing", () => api.getPayment("TXN-no/such?one"));
  return card;
}

async function checkout(api: ApiClient): Promise<void> {
  const session = await api.createCheckoutSession({
    amount: "49.90", currency: "BRL", country: "BR", merchantOrderId: "order-session", metadata: { cart: "c-311" },
    lineItems: [{ name: "Tea", quantity: "0.5", unitAmount: "99.80" }],
    customer: { firstName: "Ana", lastName: "Souza", email: "ana@example.com", phone: "+5511999990000", documentId: "52998224725" },
  });
  line("session", session.status, session.amount, session.currency, session.lineItems?.[0]?.quantity, session.metadata?.["cart"]);
  const read = await api.getCheckoutSession(session.sessionId);
  line("session of", read.customer?.firstName, read.status);
  const selected = await api.selectCheckoutMethod(session.sessionId, { paymentMethodId: "sbx_pix" });
  line("selected", selected.status, selected.transactionStatus);
  await failure("selected again", () => api.selectCheckoutMethod(session.sessionId, { paymentMethodId: "sbx_pix" }));
}

async function refusedWebhook(what: string, secret: string, r: Received, now?: number): Promise<void> {
  try {
    await readWebhook({ secret, headers: r.headers, body: r.body, ...(now === undefined ? {} : { now }) });
    line(what, "accepted");
  } catch (e) {
    line(what, e instanceof WebhookError ? e.reason : e);
  }
}

/** told reads what the type of an event promises, without a cast. */
function told(event: Event): string {
  switch (event.type) {
    case "payment.completed":
      return `${event.data.object.merchantOrderId} ${event.data.object.amount} ${event.data.previous.status}`;
    case "claim.opened":
      return event.data.object.type;
    default:
      return `unknown ${event.type}`;
  }
}

async function webhooks(api: ApiClient): Promise<void> {
  const endpoint = await receiver();
  const webhook = await api.createWebhook({ url: endpoint.url, events: ["payment.completed"] });
  line("webhook", webhook.status, webhook.secret.slice(0, 6), webhook.managed);
  const first = await pay(api, "sbx_pix", "12.34", "order-hook-1");
  await api.simulatePayment(first.transactionId, { action: "paid" });
  const delivery = await endpoint.next("payment.completed");
  const event = await readWebhook({ secret: webhook.secret, headers: delivery.headers, body: delivery.body });
  line("event", event.type, event.sequence, told(event));
  await refusedWebhook("tampered", webhook.secret, { headers: delivery.headers, body: Buffer.from(delivery.body.toString().replace("12.34", "99.34")) });
  await refusedWebhook("foreign", "whsec_foreign", delivery);
  const sent = Number(/t=(\d+)/.exec(String(delivery.headers["x-service-signature"]))?.[1]);
  await refusedWebhook("in time", webhook.secret, delivery, sent + 300);
  await refusedWebhook("late", webhook.secret, delivery, sent + 301);
  await refusedWebhook("early", webhook.secret, delivery, sent - 301);
  const rotated = await api.rotateWebhookSecret(webhook.id);
  const second = await pay(api, "sbx_pix", "10", "order-hook-2");
  await api.simulatePayment(second.transactionId, { action: "paid" });
  const signedTwice = await endpoint.next("payment.completed");
  await refusedWebhook("old secret", webhook.secret, signedTwice);
  await refusedWebhook("new secret", rotated.secret, signedTwice);
  let delivered = 0;
  for await (const d of api.allDeliveries(webhook.id, { limit: 1 })) delivered += d.event === "payment.completed" ? 1 : 0;
  line("deliveries", delivered);
  endpoint.close();
  const types: string[] = [];
  for await (const e of api.allEvents({ objectId: second.transactionId, limit: 1 })) types.push(`${e.type}:${e.sequence}`);
  line("events", types.join(" "));
  line("deleted", (await api.deleteWebhook(webhook.id)).deleted);
}

async function books(api: ApiClient, card: CreatedPayment): Promise<void> {
  const refund = await api.refundPayment(card.transactionId, { amount: "5.25", reason: "one item" });
  line("refund", refund.amount, refund.currency, refund.amountUsd, refund.reason);
  const p = await api.getPayment(card.transactionId);
  line("refunded", p.status, p.refundedAmountLocal, p.refundableAmountLocal);
  await failure("too much", () => api.refundPayment(card.transactionId, { amount: "20.26" }));
  const orders: string[] = [];
  for await (const row of api.allPayments({ limit: 3 })) orders.push(row.merchantOrderId ?? "none");
  line("payments", orders.join(" "));
  const page = await api.listPayments({ status: "completed", amount: "12.34", limit: 1 });
  line("page", page.data.length, page.pagination.total, page.data[0]?.amount);
  const balance = await api.getBalance();
  const { available, pending, frozen, reserve } = balance.balance;
  line("balance", available, pending, frozen, reserve, "gross", balance.feeSummary.grossVolume, "fees", balance.feeSummary.totalFees);
  const sums: Record<string, string> = {};
  for await (const m of api.allMovements({ limit: 7 })) sums[m.bucket] = decimal.sum(sums[m.bucket] ?? "0", m.amount);
  line("exact", decimal.equal(sums["pending"] ?? "0", pending), decimal.equal(sums["reserve"] ?? "0", reserve), decimal.sum(available, pending, reserve, frozen));
  const csv = (await (await api.exportPayments({ status: "completed" })).text()).trim().split("\n");
  line("csv", csv.length, csv[0]?.split(",").slice(0, 3).join(","));
}

/** flaky pays through a proxy that loses answers and refuses at random. */
async function flaky(api: ApiClient): Promise<void> {
  const made: CreatedPayment[] = [];
  for (let i = 1; i <= 3; i++) made.push(await api.createPayment({ amount: `1${i}.10`, paymentMethodId: "sbx_card", merchantOrderId: `flaky-${i}` }));
  line("paid", made.map((p) => `${p.status}:${p.amount}`).join(" "));
  line("refund", (await api.refundPayment(made[0]?.transactionId ?? "", { amount: "1.10" })).amount);
  line("webhook", (await api.createWebhook({ events: ["payment.completed"] })).status);
  line("webhooks", (await api.listWebhooks()).pagination.total);
  await failure("wallet", () => api.createWallet({ type: "bank_account", currency: "MXN", destination: "032180000118359719" }));
  line("wallets", (await api.listWallets()).pagination.total);
  line("payments", (await api.listPayments()).pagination.total, "gross", (await api.getBalance()).feeSummary.grossVolume);
}

async function scenario(api: ApiClient): Promise<void> {
  const ping = await api.ping();
  line("ping", ping.ok, ping.environment, ping.keyKind, ping.apiVersion);
  const { methods } = await api.listPaymentMethods();
  for (const m of methods.sort((a, b) => (a.paymentMethodId < b.paymentMethodId ? -1 : 1))) {
    line("method", m.paymentMethodId, m.method, m.countryIso3, m.channel, m.routable, m.fee.percent, m.currencyLimits.map((l) => `${l.currency}:${l.min}-${l.max}`).join(","));
  }
  const card = await payments(api);
  await checkout(api);
  await webhooks(api);
  await books(api, card);
  await api.logout();
  line("after logout", (await api.ping()).ok);
}

/** vectors verifies the deliveries of the documentation. */
async function vectors(): Promise<void> {
  const list = JSON.parse(process.env["CASCADA_VECTORS"] ?? "[]") as { name: string; secret: string; header: string; body: string; now: number }[];
  for (const { name, secret, header, body, now } of list) {
    await refusedWebhook(name, secret, { headers: { "x-service-signature": header }, body: Buffer.from(body) }, now);
  }
}

const modes: Record<string, (api: ApiClient) => Promise<void>> = { scenario, flaky, attack, vectors };
await modes[process.argv[2] ?? "scenario"]?.(shop());
