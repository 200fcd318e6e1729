// Prepares the account of a shop, once, with a secret key: subscribes the webhook and prints its secret, for CASCADA_WEBHOOK_SECRET.
import { Cascada } from "@cascadapay/sdk";
import { config } from "./config.js";
import { eventTypes } from "./payments.js";

const cascada = new Cascada({ url: config.cascada.url, secretKey: config.cascada.secretKey });
const url = `${config.url}/webhooks/cascada`;

/** A secret is shown once. For a webhook that is there already this makes another one, and both sign for a day. */
async function secretOf(): Promise<string> {
  for await (const webhook of cascada.allWebhooks()) if (webhook.url === url) return (await cascada.rotateWebhookSecret(webhook.id)).secret;
  // sandboxStrict: a strict sandbox accepts what production does, https at a public address. This shop may be on your own machine.
  return (await cascada.createWebhook({ url, events: [...eventTypes], description: "Demo shop" }, { sandboxStrict: false })).secret;
}

const secret = await secretOf();
if ((await cascada.ping()).environment === "sandbox") {
  // As in production: a card is typed on a page, and wrong data is refused.
  await cascada.setSandbox({ strict: true });
  // A refund costs more than its payment brought, by the fees. So the sandbox has sold something before.
  await cascada.createPayment({ amount: "500", currency: "USD", paymentMethodId: "sbx_card", merchantOrderId: "setup" }, { idempotencyKey: "setup", sandboxSimulate: "paid" });
}
console.log(secret);
