// A shop's program in TypeScript, with a client made only from the published
// document: openapi-typescript makes cascada.d.ts from it. `make spec` compiles
// this, so a program can use what the document promises.
import type { components, operations, webhooks } from "./cascada.js";

type Schemas = components["schemas"];
type Problem = Schemas["Envelope"]["error"];

/** CascadaError is a reply of the service that is an error. */
export class CascadaError extends Error {
  constructor(readonly status: number, readonly problem: Problem) {
    super(problem.message);
  }
}

async function call<T>(root: string, token: string, method: string, path: string, body?: unknown, idempotencyKey?: string): Promise<T> {
  const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (idempotencyKey !== undefined) headers["Idempotency-Key"] = idempotencyKey;
  const reply = await fetch(root + path, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  if (!reply.ok) throw new CascadaError(reply.status, ((await reply.json()) as Schemas["Envelope"]).error);
  return (await reply.json()) as T;
}

type Created = operations["createPayment"]["responses"][201]["content"]["application/json"];
type Page = operations["listPayments"]["responses"][200]["content"]["application/json"];

/** pay takes an order's payment once, however often it is called. */
export async function pay(root: string, token: string, order: string, usd: number): Promise<string> {
  const wanted: Schemas["PaymentRequest"] = { amount: usd, paymentMethodId: "sbx_pix", documentId: "52998224725", merchantOrderId: order };
  try {
    const made = await call<Created>(root, token, "POST", "/payments", wanted, order);
    return made.paymentFormUrl ?? made.transactionId;
  } catch (e) {
    if (!(e instanceof CascadaError)) throw e;
    switch (e.problem.code) {
      case "three_ds_required":
        return e.problem.details?.redirectUrl ?? "";
      case "cascade_exhausted":
        return (e.problem.details?.attempts ?? []).map((a) => `${a.order} ${a.outcome}`).join(", ");
      case "amount_out_of_limits":
        return `between ${e.problem.details?.limit?.min} and ${e.problem.details?.limit?.max}`;
      default:
        throw e;
    }
  }
}

/** completed lists the ids of a page of completed payments. */
export async function completed(root: string, token: string): Promise<string[]> {
  const query: operations["listPayments"]["parameters"]["query"] = { status: "completed", limit: 100, from: "2026-11-01" };
  const text = new URLSearchParams(Object.entries(query).map(([k, v]) => [k, String(v)]));
  const page = await call<Page>(root, token, "GET", `/payments?${text}`);
  return page.data.map((t) => t.id);
}

type EventOf<K extends keyof webhooks> = webhooks[K] extends { post: { requestBody: { content: { "application/json": infer E } } } } ? E : never;
type PaymentEvent = EventOf<"payment.completed"> | EventOf<"payment.failed"> | EventOf<"payment.refunded"> | EventOf<"payment.attention">;
type ClaimEvent = EventOf<"claim.opened"> | EventOf<"chargeback.created">;

/** told reads an event whose signature was verified. */
export function told(event: PaymentEvent | ClaimEvent): string {
  switch (event.type) {
    case "payment.completed":
      return `${event.data.object.merchantOrderId ?? event.data.object.id} is paid: ${event.data.object.amount} USD`;
    case "payment.failed":
      return `${event.data.object.id} failed: ${event.data.object.failure?.code}`;
    case "payment.refunded":
      return `${event.data.object.id}: ${event.data.object.refund?.amount} ${event.data.object.refund?.currency} back`;
    case "payment.attention":
      return `${event.data.object.id}: ${event.data.object.attention?.code ?? "dealt with"} ${event.data.object.attention?.amountLocal ?? ""}`;
    default:
      return `${event.data.object.transactionId} is disputed: ${event.data.object.status}`;
  }
}
