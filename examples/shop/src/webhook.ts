// Where Cascada reports what happened. It verifies, stores, and answers: nothing that takes time. What it does not answer with 2xx within ten
// seconds comes again.
import type { IncomingHttpHeaders } from "node:http";
import { readWebhook, WebhookError, type Event } from "@cascadapay/sdk";
import type { Payments } from "./payments.js";

export async function receive(payments: Payments, secret: string[], headers: IncomingHttpHeaders, body: Buffer): Promise<number> {
  let event: Event;
  try {
    event = await readWebhook({ secret, headers, body }); // the bytes as they came: parsing and writing them again would break the signature
  } catch (e) {
    if (!(e instanceof WebhookError)) throw e;
    console.error("shop: a delivery was refused:", e.reason);
    return 401;
  }
  payments.receive(event); // if storing it fails, this throws, the answer is 500, and the event comes again
  return 204;
}
