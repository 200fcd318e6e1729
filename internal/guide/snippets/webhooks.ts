//= begin
import { Cascada } from "@cascadapay/sdk";

const cascada = new Cascada({ url: "https://pay.example", secretKey: "sk_test_…" });
//= subscribe
const webhook = await cascada.createWebhook({
  url: "https://shop.example/cascada", events: ["payment.completed", "payment.failed", "payment.refunded", "claim.opened"],
});
console.log(webhook.status); // and webhook.secret is what you store
//= stored
const secret = webhook.secret;
//= verify alone
//+ import { createServer } from "node:http";
import { readWebhook, WebhookError } from "@cascadapay/sdk";

//+ const secret = "whsec_…";
//+
// headers and body are those of the request. Give the body as it came, not parsed.
async function handle(headers: Record<string, string | string[] | undefined>, body: Uint8Array) {
  try {
    const event = await readWebhook({ secret, headers, body });
    // Store event.id first, and drop an event that you have seen.
    if (event.type === "payment.completed") console.log(event.type, event.data.object.merchantOrderId);
    return 204;
  } catch (e) {
    return e instanceof WebhookError ? 401 : 500;
  }
}
//+
//+ createServer(async (request, response) => {
//+   const parts: Buffer[] = [];
//+   for await (const part of request) parts.push(part);
//+   response.writeHead(await handle(request.headers, Buffer.concat(parts))).end();
//+ }).listen(3000);
//= received
import { createHmac } from "node:crypto";

const body = '{"id":"evt_1","type":"payment.completed","data":{"object":{"merchantOrderId":"1003"}}}';
const t = Math.floor(Date.now() / 1000);
const v1 = createHmac("sha256", secret).update(`${t}.${body}`).digest("hex");
if ((await handle({ "x-service-signature": `t=${t},v1=${v1}` }, Buffer.from(body))) !== 204) throw new Error("a true delivery is refused");
if ((await handle({ "x-service-signature": `t=${t},v1=${v1}` }, Buffer.from(body + " "))) !== 401) throw new Error("a changed delivery is accepted");
//= replay
//+ const webhook = { id: "wh_…" }; // of the reply
//+
const replay = await cascada.replayEvents(webhook.id, { from: new Date(Date.now() - 3600_000).toISOString() });
console.log(replay.events);
//= rotate
//+ const webhook = { id: "wh_…" }; // of the reply
//+
const rotated = await cascada.rotateWebhookSecret(webhook.id);
console.log(rotated.secret.slice(0, 6)); // the whole secret is what you store
