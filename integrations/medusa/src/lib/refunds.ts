import { decimal, type Claim, type Decimal, type Payment } from "@cascadapay/sdk";
import { share } from "./amounts.js";
import type { SessionData } from "./data.js";

/** What the reason of a refund says, so that it is found again when the answer to its request was lost. */
export function reasonOf(refundId: string, amount: Decimal, currency: string): string {
  return `Medusa refund ${refundId} of ${amount} ${currency}`;
}

/** A refund of the service that this plugin has made. */
export interface Made {
  claim: Claim;
  /** Medusa's refund. */
  id: string;
  /** In the cart's currency. */
  amount: Decimal;
}

/** Reads the refunds that this plugin has made and no provider refused. */
export function madeByUs(claims: Claim[]): Made[] {
  return claims.flatMap((claim) => {
    const match = /^Medusa refund (\S+) of ([0-9.]+) [A-Z]{3}$/.exec(claim.reason ?? "");
    if (claim.type !== "user_dispute" || claim.outcome === "rejected" || !match?.[1] || !match[2]) return [];
    return [{ claim, id: match[1], amount: match[2] }];
  });
}

/**
 * The amount of a refund in the currency in which the shopper paid. If that is the cart's, it is the amount itself. Else it is the
 * same part of what was paid; the refund that gives back all the rest of the cart's amount takes all that is left of the payment.
 */
export function localAmount(payment: Payment, data: SessionData, amount: Decimal): Decimal {
  if (payment.currencyLocal === data.currency && decimal.equal(payment.amountLocal, data.amount)) return amount;
  const before = decimal.sum(...data.refunds.map((r) => r.amount));
  const beforeLocal = decimal.sum(...data.refunds.map((r) => r.amountLocal));
  const last = decimal.compare(decimal.sum(before, amount), data.amount) >= 0;
  const onlyOurs = decimal.equal(beforeLocal, payment.refundedAmountLocal);
  return last && onlyOurs ? payment.refundableAmountLocal : share(amount, data.amount, payment.amountLocal, payment.currencyLocal);
}
