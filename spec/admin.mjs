// Calls every operation of the operators' document with a valid request, through a
// proxy that reports everything that the document does not promise. An operation that is
// added to the document must be added here.
//
//   node admin.mjs admin.json PROXY TOKEN SERVICE SECRET
import { readFileSync } from "node:fs";

const [file, proxy, token, service, secret] = process.argv.slice(2);
const operations = new Map();
for (const [path, item] of Object.entries(JSON.parse(readFileSync(file, "utf8")).paths)) {
  for (const [method, operation] of Object.entries(item)) operations.set(operation.operationId, { method: method.toUpperCase(), path });
}
const todo = new Set(operations.keys());
const problems = [];

async function request(base, bearer, method, path, body) {
  const reply = await fetch(base + path, {
    method, body: body && JSON.stringify(body),
    headers: { Authorization: `Bearer ${bearer}`, ...(body && { "Content-Type": "application/json" }) },
  });
  return { reply, text: await reply.text() };
}

/** call makes one request of an operation; refusals are the error statuses that are accepted too. */
async function call(id, path = {}, body, refusals = []) {
  const known = operations.get(id);
  if (!known) throw new Error(`the document has no operation ${id}`);
  todo.delete(id);
  const { reply, text } = await request(proxy, token, known.method, known.path.replace(/{(\w+)}/g, (_, name) => path[name]), body);
  if (!(reply.ok || refusals.includes(reply.status)) || reply.headers.has("sl-violations")) {
    problems.push(`${id}: ${reply.status} ${reply.headers.get("sl-violations") ?? ""} ${text}`);
  }
  return JSON.parse(text);
}

/** shop makes a request as the merchant does. */
async function shop(method, path, body) {
  const { reply, text } = await request(service, secret, method, path, body);
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
  return JSON.parse(text);
}

// An account, from its opening to its end.
await call("listAdapters");
const account = await call("openAccount", {}, { id: "bank", adapter: "bank-file", environment: "sandbox", credentials: { layout: "csv" } });
await call("listAccounts");
const { version } = await call("getAccount", { id: account.id });
await call("changeAccount", { id: account.id }, { version, priority: 5 });
await call("rotateCredentials", { id: account.id }, { credentials: { zone: "America/Sao_Paulo" } });
for (const id of ["checkAccount", "disableAccount", "enableAccount", "removeAccount"]) await call(id, { id: account.id });

// A merchant's terms, and its pause.
const merchant = (await shop("GET", "/me")).id;
await call("getMerchant", { id: merchant });
await call("changeMerchant", { id: merchant }, { refundFees: "kept" });
await call("changeMerchant", { id: merchant }, { tier: "premium" });

// Price plans.
const plan = {
  prices: [{ rail: "pix.BRA", percent: 0.99, minimum: 0.2, providerCost: "included" }, { percent: 1.2 }],
  reserve: { percent: 5, days: 30, cap: 100 }, settlement: { delay: "72h", weekdays: ["tue", "fri"] }, tax: { name: "IVA", percent: 16 },
};
await call("applyPlan", { name: "gold" }, plan);
for (const id of ["listPlans", "getPlan", "listPlanVersions"]) await call(id, { name: "gold" });
await call("replayPlan", {}, { from: "2026-01-01T00:00:00Z", environment: "sandbox", plan: { plan: "gold", ...plan } });
await call("changeMerchant", { id: merchant }, { plan: { name: "gold", exceptions: { refundFee: 0.5 } }, trustScore: 800, reason: "A contract" });
await call("pauseMerchant", { id: merchant }, { reason: "We wait for your papers" });
await call("resumeMerchant", { id: merchant });
await call("closeMerchant", { id: merchant }, { reason: "You asked us to close the account" });
await call("reopenMerchant", { id: merchant });
for (const on of [false, true]) await call("switchSandbox", { id: merchant }, { on });

// Why a payment went where it went, and what only the operator can end.
const { transactionId } = await shop("POST", "/payments", { amount: 25.5, paymentMethodId: "sbx_card" });
await call("explainPayment", { id: transactionId });
await call("getHealth");
await call("listUnsurePayments");
const note = "the report of today";
await call("resolvePayment", { id: transactionId }, { outcome: "paid", note }, [409]); // how it ended is known
await shop("POST", `/payments/${transactionId}/simulate`, { action: "chargeback" });
const claim = (await shop("GET", `/claims?transactionId=${transactionId}`)).data[0].id;
await shop("POST", `/claims/${claim}/evidence`, { kind: "receipt", text: "it was signed for" });
await call("carryEvidence", { id: claim }, { note });
await call("resolveClaim", { id: claim }, { outcome: "rejected", note });
await call("bookRefund", { id: transactionId }, { amount: "1", reference: "re_1", origin: "provider", note });
await call("resolveWithdrawal", { id: "wdr_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6" }, { outcome: "paid", note }, [404]); // none is in doubt

// What no other operation books.
const environment = "sandbox";
const credit = await call("createAdjustment", {}, { merchantId: merchant, environment, amount: "12.50", reason: "goodwill", note, reference: "ticket 1" });
await call("getAdjustment", { id: credit.id });
await call("listAdjustments");
await call("reverseAdjustment", { id: credit.id }, { note, allowNegative: true }); // the fee of the dispute took what was there
await call("approveAdjustment", { id: credit.id }, undefined, [409]); // it waits for nobody
await call("rejectAdjustment", { id: credit.id }, { note }, [409]);

for (const id of todo) problems.push(`${id} was not called`);
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log(`${operations.size} operations`);
