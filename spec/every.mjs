// Calls every operation of the published document with a valid request, through a
// proxy that reports everything that the document does not promise. An operation that
// is added to the document must be added here.
//
//   node every.mjs openapi.json PROXY SECRET PUBLISHABLE
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const [file, proxy, secret, publishable] = process.argv.slice(2);
const todo = new Map();
for (const [path, item] of Object.entries(JSON.parse(readFileSync(file, "utf8")).paths)) {
  for (const [method, operation] of Object.entries(item)) todo.set(operation.operationId, { method: method.toUpperCase(), path });
}
const count = todo.size;
const problems = [];
let token = secret;

/** call makes one request: into holds the path's parameters and the query's. */
async function call(id, into = {}, body, headers = {}) {
  const known = operations.get(id);
  if (!known) throw new Error(`the document has no operation ${id}`);
  todo.delete(id);
  const query = { ...into };
  const path = known.path.replace(/{(\w+)}/g, (_, name) => { delete query[name]; return into[name]; });
  const reply = await fetch(`${proxy}${path}?${new URLSearchParams(query)}`, {
    method: known.method, body: body && JSON.stringify(body),
    headers: { Authorization: `Bearer ${token}`, ...(body && { "Content-Type": "application/json" }), ...headers },
  });
  const text = await reply.text();
  if (!reply.ok || reply.headers.has("sl-violations")) {
    problems.push(`${id}: ${reply.status} ${reply.headers.get("sl-violations") ?? ""} ${text}`);
  }
  return reply.headers.get("content-type")?.startsWith("application/json") ? JSON.parse(text) : text;
}
const operations = new Map(todo);

const paid = { "Sandbox-Simulate": "paid" };
const pix = { amount: 25.5, paymentMethodId: "sbx_pix", documentId: "52998224725" };

// Credentials.
const pair = await call("createToken", {}, { apiKey: publishable, secretKey: secret });
const renewed = await call("refreshToken", {}, { refreshToken: pair.refreshToken });
token = renewed.accessToken;
for (const id of ["ping", "getMe", "getBalance", "listPaymentMethods", "listKeys", "listShops", "listRequests", "getSandbox"]) await call(id);
await call("setSandbox", {}, { strict: false });

// Webhooks.
const hook = await call("createWebhook", {}, { events: ["*"] });
const deaf = await call("createWebhook", {}, { events: ["payment.completed"], url: "http://127.0.0.1:9/hooks" });
await call("listWebhooks");
await call("getWebhook", { id: hook.id });
await call("updateWebhook", { id: hook.id }, { events: ["*"] });
await call("rotateWebhookSecret", { id: hook.id });

// Payments, by both names.
for (const [create, list, get, cancel, refund, simulate] of [
  ["createPayment", "listPayments", "getPayment", "cancelPayment", "refundPayment", "simulatePayment"],
  ["createTransaction", "listTransactions", "getTransaction", "cancelTransaction", "refundTransaction", "simulateTransaction"],
]) {
  const open = await call(create, {}, { ...pix, expand: ["paymentData"], metadata: { cart: "1" } }, { "Idempotency-Key": create });
  await call(cancel, { id: open.transactionId });
  const won = await call(create, {}, { ...pix, amount: 450.07 });
  await call(simulate, { id: won.transactionId }, { action: "paid" });
  await call(refund, { id: won.transactionId }, { amount: 100.07, reason: "requested_by_customer" });
  await call(get, { id: won.transactionId });
  await call(list, { limit: "10", status: "refunded", country: "BR" });
}

await call("exportPayments", { status: "refunded", amount: "450.07", currency: "BRL", decimal: "comma" });

// A hosted checkout.
const session = await call("createCheckoutSession", {}, {
  amount: 19.99, country: "BR", customer: { firstName: "Ana", lastName: "Souza", email: "ana@example.com", phone: "+55 11 91234-5678" },
});
const left = await call("createCheckoutSession", {}, {
  amount: 5, customer: { firstName: "Ana", lastName: "Souza", email: "ana@example.com", phone: "+55 11 91234-5678" },
});
await call("expireCheckoutSession", { token: left.sessionId });
const selected = { token: session.sessionId };
await call("getCheckoutSession", selected);
await call("selectCheckoutMethod", selected, { paymentMethodId: "sbx_pix", customer: { email: "ana@example.com", fullName: "Ana Souza", documentId: "52998224725" } });

// Time passes, and money is paid out.
await call("getClock");
await call("advanceClock", {}, { advance: "240h" });
const check = await call("startVerification", {}, { subjectType: "company", level: "basic" });
await call("simulateVerification", { id: check.verificationId }, { status: "verified" });
await call("getVerification", { id: check.verificationId });
const settlement = (await call("listSettlements")).data.find((s) => s.status !== "open").id;
await call("getSettlement", { id: settlement });
await call("listSettlementTransactions", { id: settlement });
const link = await call("createPaymentLink", {}, { openAmount: { min: 5, max: 500 }, currency: "USD", uses: 3, description: "A donation" });
await call("getPaymentLink", { id: link.id });
await call("updatePaymentLink", { id: link.id }, { status: "closed" });
await call("listPaymentLinks", { status: "closed" });
const wallet = await call("createWallet", {}, { type: "bank_account", currency: "MXN", network: "spei", destination: "032180000118359719", label: "Main" });
await call("getSettlementReport", { id: settlement });
await call("listWallets");
await call("getWallet", { id: wallet.id });
await call("quoteWithdrawal", { walletId: wallet.id, amount: "20.07" });
const withdrawal = await call("createWithdrawal", {}, { walletId: wallet.id, amount: 20.07 });
await call("getWithdrawal", { id: withdrawal.id });
await call("listWithdrawals");
await call("cancelWithdrawal", { id: withdrawal.id });
await call("simulateSettlement", { id: settlement }, { action: "paid" });
await call("deleteWallet", { id: wallet.id });
await call("listMovements");

// Disputes.
const disputed = [];
for (let i = 0; i < 2; i++) {
  const bought = await call("createPayment", {}, { ...pix, amount: 300 }, paid);
  await call("simulatePayment", { id: bought.transactionId }, { action: "chargeback" });
  disputed.push(bought.transactionId);
}
const claims = (await call("listClaims")).data.filter((c) => disputed.includes(c.transactionId));
const evidence = await call("submitEvidence", { id: claims[0].id }, {
  kind: "delivery_proof", text: "Signed for.", file: { name: "proof.pdf", contentType: "application/pdf", content: Buffer.from("%PDF-1.4\n%%EOF\n").toString("base64") },
});
await call("getEvidenceFile", { id: claims[0].id, evidenceId: evidence.evidence.at(-1).id });
await call("getClaim", { id: claims[0].id });
await call("acceptClaim", { id: claims[1].id });

// Events and their deliveries.
const events = (await call("listEvents")).data;
await call("getEvent", { id: events[0].id });
await call("listInbox", { id: hook.id });
const missed = async () => (await call("listDeliveries", { id: deaf.id })).data.find((d) => d.status === "failed" || d.status === "dead_letter");
let delivery;
for (let i = 0; i < 100 && !delivery; i++) delivery = (await missed()) ?? (await sleep(100));
await call("getDelivery", { id: deaf.id, deliveryId: delivery.id });
await call("replayDelivery", { id: deaf.id, deliveryId: delivery.id });
const span = await call("replayEvents", { id: hook.id }, { from: events.at(-1).createdAt, to: events[0].createdAt, types: ["payment.failed"] });
await call("getReplay", { id: hook.id, replayId: span.id });
await call("listReplays", { id: hook.id, limit: "1" });
for (let tries = 0; ; tries++) { // a replay may be done before it can be stopped
  const known = problems.length;
  const short = await call("replayEvents", { id: deaf.id }, { from: events.at(-1).createdAt });
  await call("stopReplay", { id: deaf.id, replayId: short.id });
  if (problems.length === known || tries === 20) break;
  problems.length = known;
}
await call("deleteWebhook", { id: deaf.id });
await call("logout", {}, {});

for (const id of todo.keys()) problems.push(`${id} was not called`);
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log(`${count} operations`);
