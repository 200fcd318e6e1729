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

/** call makes one request of an operation; refusals are the error statuses that are accepted too. query is a query string. */
async function call(id, path = {}, body, refusals = [], query = "") {
  const known = operations.get(id);
  if (!known) throw new Error(`the document has no operation ${id}`);
  todo.delete(id);
  const { reply, text } = await request(proxy, token, known.method, known.path.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(path[name])) + query, body);
  if (!(reply.ok || refusals.includes(reply.status)) || reply.headers.has("sl-violations")) {
    problems.push(`${id}: ${reply.status} ${reply.headers.get("sl-violations") ?? ""} ${text}`);
  }
  return (reply.headers.get("content-type") ?? "").includes("json") ? JSON.parse(text) : text; // an archive is no JSON
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
await call("listLeavingMerchants");
for (const id of ["getLeavingMerchant", "exportMerchant"]) await call(id, { id: merchant });
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

// A merchant with its shops, keys and users, as a deployment sets it up.
const tenant = await call("createMerchant", {}, { name: "Acme", email: "ops@acme.example", language: "es" });
const id = tenant.merchant.id;
await call("listMerchants", {}, undefined, [], "?limit=1");
await call("changeContact", { id }, { language: "pt" });
const { shop: second } = await call("createShop", { id }, { name: "Acme Two" });
for (const operation of ["listShops", "listKeys"]) await call(operation, { id });
await call("changeShop", { id: second.id }, { name: "Acme 2", brand: { color: "#0a7d5a" }, schemes: ["com.example.shop"] });
await call("getShop", { id: second.id });
const { key } = await call("createKey", { id }, { environment: "sandbox", kind: "restricted", rights: ["read"] });
await call("getKey", { id: key.id });
const rotated = await call("rotateKey", { id: key.id }, { grace: "24h" });
await call("revokeKey", { id: rotated.key.id });
await call("revokeFoundKey", {}, { key: tenant.keys.production.secret });
await call("revokeLogins", {}, { merchantId: id, reason: "a lost laptop" });
await call("emptySandbox", { id });
await call("getSandboxReset", { id });
const { invitation } = await call("inviteUser", {}, { email: "eva@acme.example", merchantId: id, role: "owner" });
await call("listInvitations", {}, undefined, [], `?merchantId=${id}`);
await call("getInvitation", { id: invitation.id }, undefined, [], `?merchantId=${id}`);
await call("withdrawInvitation", { id: invitation.id }, undefined, [], `?merchantId=${id}`);
const users = await call("listUsers");
const user = { id: users.data[0]?.id ?? "usr_1" };
await call("getUser", user, undefined, [404]);
await call("changeUserRole", user, { merchantId: id, role: "viewer" }, [404]);
await call("changeOperatorRole", user, { role: "viewer" }, [404, 409]);
await call("unlockUser", user, undefined, [404]);
await call("signOutUser", user, undefined, [404]);
await call("createUserLink", user, { kind: "sign-in" }, [404, 409]);
await call("removeUser", { id: "usr_1" }, undefined, [404]);

// Operators, and what needs two persons.
await call("addOperator", {}, { name: "bot", role: "viewer" });
await call("changeOperator", { name: "bot" }, { role: "support" });
for (const operation of ["listOperators", "getOperator", "removeOperator"]) await call(operation, { name: "bot" });
await call("listDualControls");
await call("setDualControl", { right: "machine" }, { required: true });
await call("setDualControl", { right: "machine" }, { required: false }, [409]);
const [proposal] = (await call("listProposals")).data;
await call("getProposal", { id: proposal.id });
await call("approveProposal", { id: proposal.id }, undefined, [409]); // its own
await call("rejectProposal", { id: proposal.id }, { note });

// Payouts.
const production = { environment: "production" };
await call("changePayoutLimits", production, { daily: "20000", approvalAbove: "5000" });
await call("stopPayouts", production, { reason: "we look into it" });
await call("resumePayouts", production);
for (const operation of ["listPayoutLimits", "getPayoutLimits"]) await call(operation, production);
for (const operation of ["listSentWithdrawals", "listWaitingWithdrawals", "listBatches", "listFloats"]) await call(operation);
const nobody = "wdr_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6";
await call("getWithdrawal", { id: nobody }, undefined, [404]);
await call("explainWithdrawal", { id: nobody }, undefined, [404]);
await call("approveWithdrawal", { id: nobody }, { note }, [404]);
const bank = await call("openAccount", {}, { id: "bank-2", adapter: "bank-file", environment: "sandbox", credentials: { layout: "csv" } });
await call("makeBatches", {}, { account: bank.id });
for (const operation of ["getBatch", "approveBatch", "dissolveBatch", "exportBatch"]) await call(operation, { id: "bat_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6" }, undefined, [404]);
await call("importAnswers", { id: bank.id }, { content: btoa("a;b\n") }, [400]);
await call("enterFloat", {}, { account: bank.id, amount: "100", currency: "MXN", reference: "E1", force: true });

// What needs a person.
await call("listClaims", {}, undefined, [], `?transactionId=${transactionId}`);
await call("getClaim", { id: claim });
await call("askEvidence", { id: claim }, { note }, [409]); // it has ended
for (const operation of ["listNotifications", "listVerifications", "listSettlements"]) await call(operation);
await call("getNotification", { id: "bank/1" }, undefined, [404]);
await call("closeNotification", { id: "bank/1" }, { note }, [404]);
await call("getVerification", { id: "kyc_1" }, undefined, [404]);
await call("decideVerification", { id: "kyc_1" }, { outcome: "verified" }, [404]);
const settlement = "STL-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6";
await call("getSettlement", { id: settlement }, undefined, [404]);
await call("listSettlementLines", { id: settlement }, undefined, [404]);
await call("paySettlement", { id: settlement }, { reference: "E1" }, [404]);

// Rules and rates.
const rules = await call("getRoutingRules");
await call("applyRoutingRules", {}, { version: rules.version, file: "order: success_rate\n" });
await call("listRoutingRules");
await call("replayRouting", {}, { file: "order: least_cost\n", from: "2026-01-01T00:00:00Z", environment: "sandbox" });
await call("resetRoutingRules");
await call("setRate", { currency: "BRL" }, { rate: "5.4", source: "desk" });
for (const operation of ["listRates", "getRate", "listRateReadings"]) await call(operation, { currency: "BRL" });
await call("importRates", {}, { content: "currency,rate\nMXN,18.5\n", source: "desk" });

// The books, and shoppers' data.
await call("listAudit", {}, undefined, [], "?limit=2");
await call("getStory", { id: transactionId });
await call("listReconciliations");
await call("reconcile", { id: bank.id }, { reports: [{ name: "r.csv", content: btoa("reference,amount\n") }], from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" }, [400]);
await call("startBooksCheck", {}, {}, [409]);
for (const operation of ["getBooksCheck", "stopBooksCheck", "listSealHeads"]) await call(operation);
await call("compareSeals", {}, { lines: [`- production 1 ${"0".repeat(64)}`] });
await call("exportShopper", {}, { transactionId });
await call("eraseShopper", {}, { transactionId, dryRun: true });

for (const id of todo) problems.push(`${id} was not called`);
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log(`${operations.size} operations`);
