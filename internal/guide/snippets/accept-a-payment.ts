//= begin
import { Cascada } from "@cascadapay/sdk";

const cascada = new Cascada({ url: "https://pay.example", secretKey: "sk_test_…" });
//= methods
const { methods } = await cascada.listPaymentMethods({ country: "BR" });
for (const m of methods) if (m.routable) console.log(m.paymentMethodId);
//= create
const payment = await cascada.createPayment(
  {
    amount: "99.9", currency: "BRL", paymentMethodId: "sbx_pix", documentId: "52998224725",
    merchantOrderId: "1001", expand: ["paymentData"],
  },
  { idempotencyKey: "order-1001" },
);
console.log(Object.keys(payment.paymentData).length > 0);
//= wait
//+ const payment = { transactionId: "TXN-…" }; // of the reply
//+
console.log((await cascada.getPayment(payment.transactionId)).status);
//= cancel
//+ const payment = { transactionId: "TXN-…" }; // of the reply
//+
console.log((await cascada.cancelPayment(payment.transactionId)).status);
