//= begin
import { Cascada } from "@cascadapay/sdk";

const cascada = new Cascada({ url: "https://pay.example", secretKey: "sk_test_…" });
//= ping
console.log((await cascada.ping()).environment);
//= pay
const payment = await cascada.createPayment(
  { amount: "25.5", currency: "BRL", paymentMethodId: "sbx_pix", documentId: "52998224725" },
  { idempotencyKey: "first-1" },
);
console.log(payment.status);
//= paid
//+ const payment = { transactionId: "TXN-…" }; // of the reply
//+
await cascada.simulatePayment(payment.transactionId, { action: "paid" });
console.log((await cascada.getPayment(payment.transactionId)).status);
