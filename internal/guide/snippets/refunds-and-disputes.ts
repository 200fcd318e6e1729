//= begin
import { Cascada } from "@cascadapay/sdk";

const cascada = new Cascada({ url: "https://pay.example", secretKey: "sk_test_…" });
//= setup
const order = { amount: "100", currency: "BRL", paymentMethodId: "sbx_pix", documentId: "52998224725" };
const paid = async (action: "paid" | "chargeback") => (await cascada.createPayment(order, { sandboxSimulate: action })).transactionId;
await paid("paid");
const transactionId = await paid("paid");
await paid("chargeback");
//= refund
//+ const transactionId = "TXN-…"; // the payment
//+
const refund = await cascada.refundPayment(
  transactionId, { amount: "30", reason: "one of two returned" }, { idempotencyKey: "refund-1001-1" },
);
console.log(refund.amount, refund.currency);
//= claims
for await (const claim of cascada.allClaims({ status: "needs_evidence" })) console.log(claim.type);
//= pick
const claimId = (await cascada.listClaims({ status: "needs_evidence" })).data[0]?.id ?? "";
//= evidence
//+ const claimId = "CLM-…"; // of the event, or of the list
//+
const answered = await cascada.submitEvidence(claimId, {
  kind: "delivery_proof", text: "Delivered on 12 May, signed by the shopper",
});
console.log(answered.status);
