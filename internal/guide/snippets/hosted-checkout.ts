//= begin
import { Cascada } from "@cascadapay/sdk";

const cascada = new Cascada({ url: "https://pay.example", secretKey: "sk_test_…" });
//= open
const session = await cascada.createCheckoutSession(
  {
    amount: "250", currency: "BRL", country: "BR", merchantOrderId: "1002", returnUrl: "https://shop.example/thanks",
    customer: { firstName: "Ana", lastName: "Souza", email: "ana@example.com", phone: "+5511987654321" },
    description: "Yoga class",
  },
  { idempotencyKey: "order-1002" },
);
console.log(session.status); // and session.checkoutUrl is where you send the shopper
//= methods
const { methods } = await cascada.getCheckoutSession(session.sessionId);
for (const m of methods ?? []) console.log(m.paymentMethodId, m.currencyLocal, m.payable);
//= select
const chosen = await cascada.selectCheckoutMethod(session.sessionId, {
  paymentMethodId: "sbx_pix", customer: { documentId: "52998224725" },
});
const transactionId = chosen.transactionId;
//= read
//+ const transactionId = "TXN-…"; // of the event
//+
const payment = await cascada.getPayment(transactionId);
console.log(payment.status, payment.merchantOrderId);
