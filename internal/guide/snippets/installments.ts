//= begin
import { Cascada } from "@cascadapay/sdk";

const cascada = new Cascada({ url: "https://pay.example", secretKey: "sk_test_…" });
//= offer
const { methods } = await cascada.listPaymentMethods();
for (const m of methods) if (m.installments) console.log(m.paymentMethodId, m.installments.max);
//= create
const { transactionId } = await cascada.createPayment({
  amount: "1200", currency: "MXN", paymentMethodId: "sbx_card", installments: { max: 6, interestFree: 3 },
});
const payment = await cascada.getPayment(transactionId);
console.log(payment.installments?.count);
