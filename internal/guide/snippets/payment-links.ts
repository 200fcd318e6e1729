//= begin
import { Cascada } from "@cascadapay/sdk";

const cascada = new Cascada({ url: "https://pay.example", secretKey: "sk_test_…" });
//= create
const link = await cascada.createPaymentLink(
  { amount: "250", currency: "BRL", country: "BR", merchantOrderId: "class-7", description: "Yoga class", uses: 20 },
  { idempotencyKey: "link-class-7" },
);
console.log(link.status, link.uses); // and link.url is what you send
//= close
//+ const link = { id: "lnk_…" }; // of the reply
//+
const closed = await cascada.updatePaymentLink(link.id, { status: "closed" });
console.log(closed.status, closed.paid);
