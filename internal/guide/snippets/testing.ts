//= begin
import { Cascada, CascadaError } from "@cascadapay/sdk";

const cascada = new Cascada({ url: "https://pay.example", secretKey: "sk_test_…" });
//= simulate
const { transactionId } = await cascada.createPayment({ amount: "10", paymentMethodId: "sbx_pse" });
await cascada.simulatePayment(transactionId, { action: "failed" });
console.log((await cascada.getPayment(transactionId)).status);
//= decline
await cascada.createPayment({ amount: "10.51", paymentMethodId: "sbx_card" }).catch((e) => {
  if (e instanceof CascadaError) console.log(e.code);
});
//= session
const session = await cascada.createCheckoutSession({
  amount: "10", customer: { firstName: "Ana", lastName: "Souza", email: "ana@example.com", phone: "+5511987654321" },
});
const ordered = await cascada.selectCheckoutMethod(session.sessionId, { paymentMethodId: "sbx_pse" });
console.log((await cascada.simulatePayment(ordered.transactionId, { action: "paid" })).status);
//= link
const link = await cascada.createPaymentLink({ amount: "20", description: "Two tickets" });
// What the form of the link's page sends. The page that follows has the token of a session in its address.
const page = await fetch(link.url, { method: "POST", body: new URLSearchParams({ name: "Ana Souza", email: "ana@example.com" }) });
const token = new URL(page.url).pathname.split("/").pop() ?? "";
const chosen = await cascada.selectCheckoutMethod(token, { paymentMethodId: "sbx_pse" });
console.log((await cascada.simulatePayment(chosen.transactionId, { action: "paid" })).status);
//= strict
console.log((await cascada.setSandbox({ strict: true })).strict);
//= clock
console.log((await cascada.advanceClock({ advance: "48h" })).advanceSeconds);
