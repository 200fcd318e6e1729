import { Cascada, CascadaConnectionError, CascadaError, type Payment } from "@cascadapay/sdk";
import type { Options } from "./options.js";

const defaultTimeout = 20_000;

export function clientOf(options: Options): Cascada {
  return new Cascada({ url: options.url, secretKey: options.secretKey, timeout: options.timeout ?? defaultTimeout, retries: 2 });
}

/** All payments that shoppers made or began for a payment session of Medusa. */
export async function paymentsOf(client: Cascada, sessionId: string): Promise<Payment[]> {
  const list: Payment[] = [];
  for await (const payment of client.allPayments({ merchantOrderId: sessionId })) list.push(payment);
  return list;
}

/**
 * Ends the checkout of a payment session, so that nobody chooses a method in it any more, and calls off the payments that wait. A
 * shopper who was faster has paid: that is no error here.
 */
export async function endOpen(client: Cascada, of: { session_id: string; checkout_url: string }): Promise<void> {
  const token = new URL(of.checkout_url).pathname.split("/").at(-1) ?? "";
  await unless(["checkout_session_already_completed", "checkout_session_not_found"], client.expireCheckoutSession(token));
  for (const payment of await paymentsOf(client, of.session_id)) {
    if (payment.status === "pending") await unless(["conflict_state"], client.cancelPayment(payment.id));
  }
}

async function unless(codes: string[], call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (e) {
    if (!(e instanceof CascadaError) || !codes.includes(e.code)) throw e;
  }
}

/** It is not known whether the service did what was requested. */
export function isUnknown(e: unknown): boolean {
  if (e instanceof CascadaConnectionError) return true;
  return e instanceof CascadaError && (e.status === 429 || e.status >= 500 || e.details.reason === "request_in_progress");
}

/** The words of an error, with what support asks for. */
export function words(e: unknown): string {
  if (e instanceof CascadaError) return `${e.message} (${[e.code, e.declineCode, e.requestId].filter((part) => part !== "").join(", ")})`;
  return e instanceof Error ? e.message : String(e);
}
