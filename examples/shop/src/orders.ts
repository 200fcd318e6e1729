// An order, and what can happen to it. Everything that happens is a fact, which is stored and never changed. An order is the sum of its facts,
// and its status is computed from them: there is no field that two handlers could set to different values.
import { decimal, type Decimal } from "@cascadapay/sdk";
import type { Country, Line } from "./catalogue.js";
import type { Currency } from "./money.js";
import type { Language } from "./texts.js";

/** How the shopper pays: on Cascada's page, in a window over ours, or by a method chosen on ours. */
export const modes = ["redirect", "window", "own"] as const;
export type Mode = (typeof modes)[number];

export interface Customer {
  firstName: string;
  lastName: string;
  email: string;
  phone: string;
}

/** What a shopper wants to buy. */
export interface Draft {
  cartId: string;
  mode: Mode;
  language: Language;
  country: Country;
  currency: Currency;
  amount: Decimal;
  lines: Line[];
  customer: Customer;
}

/** A payment as the newest of its events had it. An order may have several: a shopper whose card is refused may try another method. */
export interface Payment {
  id: string;
  sequence: number;
  status: string;
  method: string;
  amount: Decimal;
  currency: string;
  failure: string | null;
  /** Money came that does not fit, or may have come: nobody may pay again before that is decided about. */
  attention: string | null;
}

/** A refund or a dispute as the newest of its events had it. */
export interface Claim {
  id: string;
  sequence: number;
  paymentId: string;
  type: string;
  amount: Decimal;
  outcome: string | null;
}

/** A refund that our staff asked for. */
export interface Refund {
  /** Made by the form, and sent as Idempotency-Key: a second click, or a repeat after a crash, refunds nothing more. */
  id: string;
  paymentId: string;
  amount: Decimal;
  reason: string;
  at: string;
  claimId?: string;
  refusal?: string;
}

export interface Order extends Draft {
  /** Also the merchantOrderId, and the Idempotency-Key of its checkout. It has 80 random bits, so nobody guesses the address of its page. */
  id: string;
  placedAt: string;
  checkout?: { sessionId: string; url: string };
  /** Why there is no checkout. */
  refusal?: string;
  canceledAt?: string;
  expired: boolean;
  payments: Map<string, Payment>;
  claims: Map<string, Claim>;
  refunds: Map<string, Refund>;
  /** The number of its facts. */
  version: number;
}

export type Fact = { order: string } & (
  | { fact: "placed"; at: string; draft: Draft }
  | { fact: "opened"; sessionId: string; url: string }
  | { fact: "refused"; refusal: string }
  | { fact: "canceled"; at: string }
  | { fact: "event"; event: string; at: string; payment?: Payment; claim?: Claim; expired?: true }
  | { fact: "refund"; refund: Refund }
  | { fact: "refunding"; refund: string; claimId: string }
  | { fact: "unrefunded"; refund: string; refusal: string }
);

/** Adds a fact to an order. Facts may come twice and in any order. */
export function apply(order: Order, fact: Fact): void {
  order.version++;
  switch (fact.fact) {
    case "placed":
      return;
    case "opened":
      order.checkout = { sessionId: fact.sessionId, url: fact.url };
      return;
    case "refused":
      order.refusal = fact.refusal;
      return;
    case "canceled":
      order.canceledAt = fact.at;
      return;
    case "event":
      if (fact.payment) keepNewest(order.payments, fact.payment);
      if (fact.claim) keepNewest(order.claims, fact.claim);
      if (fact.expired) order.expired = true;
      return;
    case "refund":
      order.refunds.set(fact.refund.id, { ...fact.refund });
      return;
    case "refunding":
      order.refunds.get(fact.refund)!.claimId = fact.claimId;
      return;
    case "unrefunded":
      order.refunds.get(fact.refund)!.refusal = fact.refusal;
      return;
  }
}

/** An event that was overtaken by a later one of its object changes nothing. */
function keepNewest<T extends { id: string; sequence: number }>(all: Map<string, T>, one: T): void {
  const known = all.get(one.id);
  if (!known || known.sequence < one.sequence) all.set(one.id, one);
}

export const placed = (id: string, at: string, draft: Draft): Order => ({
  ...draft, id, placedAt: at, expired: false, payments: new Map(), claims: new Map(), refunds: new Map(), version: 0,
});

export type Status =
  | "opening" | "refused" | "held" | "open" | "waiting" | "failed" | "expired" | "canceling" | "canceled"
  | "paid" | "refunding" | "partly_refunded" | "refunded" | "disputed";

const under = (payment: Payment) => payment.status === "pending" || payment.status === "processing";

/** The payments whose money came. Only what was paid in full and in our currency counts: compare, although the service does so too. */
export function paidBy(order: Order): Payment[] {
  return [...order.payments.values()].filter(
    (p) => ["completed", "refunded", "chargeback"].includes(p.status) && p.currency === order.currency && decimal.equal(p.amount, order.amount),
  );
}

export function status(order: Order): Status {
  if (paidBy(order).length > 0) return statusOfPaid(order);
  // Before it is decided about, the shopper must not pay again.
  if (attention(order).includes("inquiry")) return "held";
  const payments = [...order.payments.values()];
  if (order.canceledAt) return payments.some(under) ? "canceling" : "canceled";
  if (order.refusal) return "refused";
  if (payments.some(under)) return "waiting";
  if (order.expired) return "expired";
  const last = payments.at(-1);
  // After "another_way" the shopper is choosing another method.
  if (last && last.failure !== "another_way") return "failed";
  return order.checkout ? "open" : "opening";
}

function statusOfPaid(order: Order): Status {
  if ([...order.claims.values()].some((c) => c.type === "chargeback" && c.outcome !== "rejected")) return "disputed";
  const back = paidBy(order).map((payment) => refunded(order, payment));
  if (back.some((b) => decimal.compare(b.under, "0") > 0)) return "refunding";
  if (back.every((b) => decimal.compare(b.approved, "0") === 0)) return "paid";
  return back.every((b) => decimal.compare(b.left, "0") === 0) ? "refunded" : "partly_refunded";
}

/** What was given back of a payment, what is on its way back, and what is left. */
export function refunded(order: Order, payment: Payment): { approved: Decimal; under: Decimal; left: Decimal } {
  const claims = [...order.claims.values()].filter((c) => c.paymentId === payment.id && c.type === "user_dispute");
  // A refund without an event yet counts too, so that the same money is not asked for twice.
  const asked = [...order.refunds.values()].filter((r) => r.paymentId === payment.id && !r.refusal && !(r.claimId && order.claims.has(r.claimId)));
  const approved = decimal.sum(...claims.filter((c) => c.outcome === "approved").map((c) => c.amount));
  const under = decimal.sum(...claims.filter((c) => c.outcome === null).map((c) => c.amount), ...asked.map((r) => r.amount));
  return { approved, under, left: decimal.subtract(payment.amount, decimal.sum(approved, under)) };
}

/** What a person has to look at. */
export function attention(order: Order): ("paid_canceled" | "paid_twice" | "wrong_amount" | "inquiry")[] {
  const paid = paidBy(order);
  const whole = paid.filter((payment) => decimal.compare(refunded(order, payment).left, "0") > 0);
  const all: ReturnType<typeof attention> = [];
  // Money that came late, twice or in another amount. The operator of the service decides about it.
  const inquiry = [...order.claims.values()].some((c) => c.type === "inquiry" && c.outcome === null);
  if (inquiry || [...order.payments.values()].some((p) => p.attention)) all.push("inquiry");
  if (order.canceledAt && whole.length > 0) all.push("paid_canceled");
  if (whole.length > 1) all.push("paid_twice");
  if ([...order.payments.values()].some((p) => p.status === "completed" && !paid.includes(p))) all.push("wrong_amount");
  return all;
}

/** The payments that have to be called off. */
export const toCancel = (order: Order): Payment[] => (order.canceledAt ? [...order.payments.values()].filter((p) => p.status === "pending") : []);

export const toOpen = (order: Order): boolean => !order.checkout && !order.refusal && !order.canceledAt;

export const toRefund = (order: Order): Refund[] => [...order.refunds.values()].filter((r) => !r.claimId && !r.refusal);
