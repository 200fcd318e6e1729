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

/** Calls off what waits for the shopper. A shopper who was faster has paid: that is no error here. */
export async function endOpen(client: Cascada, sessionId: string): Promise<void> {
  for (const payment of await paymentsOf(client, sessionId)) {
    if (payment.status !== "pending") continue;
    try {
      await client.cancelPayment(payment.id);
    } catch (e) {
      if (!(e instanceof CascadaError) || e.code !== "conflict_state") throw e;
    }
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
