import type { Decimal } from "@cascadapay/sdk";

/** A refund that Medusa has recorded. */
export interface RecordedRefund {
  /** Medusa's refund. */
  id: string;
  /** The claim of the service, clm_…. */
  claimId: string;
  /** In the cart's currency. */
  amount: Decimal;
  /** In the currency in which the shopper paid. */
  amountLocal: Decimal;
}

/**
 * What a payment session, and then its payment, remembers. Storefronts can read it, so it has no secret. Medusa mixes it with what
 * the storefront sent when it made the session: every field is always set, so that none of theirs is read as ours.
 */
export interface SessionData extends Record<string, unknown> {
  /** Medusa's payment session. It is the merchantOrderId of every payment that the shopper makes for it. */
  session_id: string;
  cart_id: string | null;
  /** Where the storefront sends the shopper. */
  checkout_url: string;
  /** When checkout_url stops working. */
  checkout_expires_at: string;
  /** What must be paid, in the cart's currency. */
  amount: Decimal;
  currency: string;
  /** How many checkouts were opened for this session: one for each amount. */
  checkouts: number;
  /** The payment that counts, TXN-…; null as long as the shopper has chosen no method. */
  transaction_id: string | null;
  transaction_status: string | null;
  payment_method: string | null;
  /** What the shopper paid or has to pay, in the method's currency. */
  amount_local: Decimal | null;
  currency_local: string | null;
  /** Why it was not paid: the code, and the issuer's reason. */
  failure_code: string | null;
  decline_code: string | null;
  refunds: RecordedRefund[];
}

/** Reads what Medusa kept; undefined if the session has no checkout, because making it failed. */
export function readData(data: Record<string, unknown> | undefined): SessionData | undefined {
  if (typeof data?.["session_id"] !== "string" || typeof data["checkout_url"] !== "string" || typeof data["amount"] !== "string") return undefined;
  return data as SessionData;
}
