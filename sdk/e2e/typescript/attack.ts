// What the modes of the scenario share, and replies that no service sends.
import { Cascada, CascadaConnectionError, CascadaError, type Reply, WebhookError } from "@cascadapay/sdk";

export type ApiClient = Cascada;

export function shop(): Cascada {
  const { CASCADA_URL: url = "", CASCADA_PUBLISHABLE: publishableKey = "", CASCADA_SECRET: secretKey = "" } = process.env;
  return new Cascada({ url, publishableKey, secretKey, retries: 5, retryDelay: 10 });
}

export function line(...words: unknown[]): void {
  console.log(words.map((w) => String(w ?? "none")).join(" "));
}

/** digits returns an amount, which must be what its type says. */
function digits(amount: string): string {
  if (typeof amount !== "string") throw new Error(`an amount is a ${typeof amount}`);
  return amount;
}

/** failure prints how a call fails. */
export async function failure(what: string, call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
    line(what, "did not fail");
  } catch (e) {
    if (e instanceof CascadaError) {
      const { limit, transactionId = "", reason, helpUrl } = e.details;
      line(what, e.status, e.code, e.type, e.param || "none", e.declineCode || "none", e.issues.map((i) => i.path).join(",") || "none",
        limit === undefined ? "none" : `${digits(limit.min)}-${digits(limit.max)}`, transactionId.slice(0, 4) || "none", reason, helpUrl !== undefined, e.requestId !== "");
    } else if (e instanceof CascadaConnectionError) {
      line(what, "connection", e.idempotencyKey !== "");
    } else if (e instanceof TypeError) {
      line(what, "refused here");
    } else {
      throw e instanceof WebhookError ? e : e;
    }
  }
}

export async function attack(api: Cascada): Promise<void> {
  const p = await api.getPayment("unknown");
  const extra = p as unknown as Record<string, unknown>;
  line("unknown", p.status, p.amount, p.fees.total, extra["newBig"], extra["newSmall"], extra["newRate"], JSON.stringify(extra["newObject"]), Object.keys(p).includes("__proto__"), p.metadata?.["n"]);
  const future = await api.getEvent("future");
  line("future", future.type, future.sequence);
  for (const id of ["redirect", "short", "chunks", "html", "empty", "deep", "later", "brand-new", "latin"]) await failure(id, () => api.getPayment(id));
  await failure("slow", () => api.getPayment("slow", { timeout: 300, retries: 0 }));
  let tries = 0;
  await api.getPayment("date", { onReply: (reply) => (tries = reply.tries) });
  line("date", tries);
  await api.getPayment("stale", { onReply: (reply) => (tries = reply.tries) });
  line("stale", tries);
  line("path", (await api.getPayment("../../a b?c#d/%2e")).id);
  for (const id of ["..", "."]) await failure(`path ${id}`, () => api.getPayment(id));
  for (const amount of ["1e3", "25,50", "0x10", "", " 1", "NaN", "١"]) await failure(`amount ${amount}`, () => api.createPayment({ amount, paymentMethodId: "sbx_card" }));
  await failure("key", () => api.createPayment({ amount: "1", paymentMethodId: "sbx_card" }, { idempotencyKey: "a\nAuthorization: b" }));
  await failure("csv", async () => (await api.exportPayments()).text());
  const onReply = (reply: Reply) => (tries = reply.tries);
  await api.createPayment({ amount: "1", paymentMethodId: "busy" }, { onReply });
  line("busy", tries);
  await failure("stored", () => api.createPayment({ amount: "1", paymentMethodId: "stored" }));
  await api.simulatePayment("nothing-done", { action: "paid" }, { onReply });
  line("nothing done", tries);
  await failure("proxy", () => api.simulatePayment("proxy", { action: "paid" }));
  let rows = 0;
  for await (const _ of api.allPayments({ limit: 1 })) if (++rows > 9) break;
  line("rows", rows);
  line("sent", (await api.createPayment({ amount: "12345678901234567.89", paymentMethodId: "é\"", metadata: { amount: "0.10" } })).merchantOrderId);
}
