import { decimal, type Payment } from "@cascadapay/sdk";
import type { SessionData } from "./data.js";

/** How far the shopper is. */
export type State =
  /** No method was chosen. */
  | "choosing"
  /** The shopper has to pay: a card's page, a voucher, a code. */
  | "waiting"
  /** The provider was called, and the outcome is not known. */
  | "unknown"
  | "paid"
  /** Paid, and all of it was given back: no order may be made for it. */
  | "returned"
  /** Declined, ended or expired. On the hosted page the shopper may choose again. */
  | "failed"
  /** The shop has called it off. */
  | "canceled"
  /** Money came, but not the amount of this session: a checkout that was opened before the cart changed. */
  | "wrong_amount";

export interface Found {
  state: State;
  /** The payment that counts. */
  payment?: Payment;
  /** Further payments that were paid: money that belongs to no order. */
  extra: Payment[];
}

const everPaid = new Set<string>(["completed", "refunded", "chargeback"]);

/** Decides by all payments of a session. One that was paid wins over all others: the shopper's later tries do not matter. */
export function found(payments: Payment[], want: { amount: string; currency: string }): Found {
  const oldest = [...payments].sort((a, b) => (a.timestamps.created < b.timestamps.created ? -1 : 1));
  const [back, paid] = [oldest.filter(isReturned), oldest.filter((p) => everPaid.has(p.status) && !isReturned(p))];
  const right = paid.find((p) => costs(p, want));
  const extra = paid.filter((p) => p !== right);
  if (right) return { state: "paid", payment: right, extra };
  const wrong = extra[0];
  if (wrong) return { state: "wrong_amount", payment: wrong, extra };
  const held = oldest.find((p) => p.attention || p.failure?.code === "outcome_unknown"); // money that does not fit came, or may have come
  if (held) return { state: "unknown", payment: held, extra };
  const open = oldest.filter((p) => !isReturned(p) && p.failure?.declineCode !== "another_way"); // the shopper chose another method instead
  const last = open.findLast((p) => p.status === "processing") ?? open.findLast((p) => p.status === "pending") ?? open.at(-1);
  if (!last) return back[0] ? { state: "returned", payment: back[0], extra } : { state: "choosing", extra };
  switch (last.status) {
    case "processing":
      return { state: "unknown", payment: last, extra };
    case "failed":
      return { state: last.failure?.code === "canceled" ? "canceled" : "failed", payment: last, extra };
    case "expired":
      return { state: "failed", payment: last, extra };
    case "pending":
      return { state: "waiting", payment: last, extra };
    default: // a status of a later version: nothing is known of it
      return { state: "unknown", payment: last, extra };
  }
}

/** All that was paid was given back. */
export function isReturned(p: Payment): boolean {
  return p.status === "refunded" && decimal.equal(p.refundableAmountLocal, "0");
}

/** What the shop requested for a payment. */
export function requested(p: Payment): { amount: string; currency: string } {
  return { amount: p.amountRequested ?? p.amount, currency: p.currencyRequested ?? p.currency };
}

/** The payment was opened for exactly this amount in this currency. */
function costs(p: Payment, want: { amount: string; currency: string }): boolean {
  const has = requested(p);
  return has.currency === want.currency && decimal.equal(has.amount, want.amount);
}

/** A card's page waits for the shopper now; vouchers and bank transfers are paid hours or days later. */
export function paidLater(p: Payment | undefined): boolean {
  return p !== undefined && p.paymentMethod !== "card";
}

/** The data of a session with what was found. */
export function remember(data: SessionData, now: Found): SessionData {
  const p = now.payment;
  return {
    ...data,
    transaction_id: p?.id ?? null,
    transaction_status: p?.status ?? null,
    payment_method: p?.paymentMethod ?? null,
    amount_local: p?.amountLocal ?? null,
    currency_local: p?.currencyLocal ?? null,
    failure_code: p?.failure?.code ?? null,
    decline_code: p?.failure?.declineCode ?? null,
  };
}
