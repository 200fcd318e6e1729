//= simulate
import { Cascada, CascadaError } from "@cascadapay/sdk";

const cascada = new Cascada({ url: "https://pay.example", secretKey: "sk_test_…" });
const { transactionId } = await cascada.createPayment({ amount: "10", paymentMethodId: "sbx_pse" });
await cascada.simulatePayment(transactionId, { action: "failed" });
console.log((await cascada.getPayment(transactionId)).status);
//= decline
await cascada.createPayment({ amount: "10.51", paymentMethodId: "sbx_card" }).catch((e) => {
  if (e instanceof CascadaError) console.log(e.code);
});
//= strict
console.log((await cascada.setSandbox({ strict: true })).strict);
//= clock
console.log((await cascada.advanceClock({ advance: "48h" })).advanceSeconds);
