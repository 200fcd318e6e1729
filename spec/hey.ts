// With the client that hey-api makes.
import { createPayment, getPayment, refundPayment } from "./hey/index.js";
import { client } from "./hey/client.gen.js";
import { root, token, trip, want } from "./trip.js";

client.setConfig({ baseUrl: root, auth: token });

await trip({
  async pay(amount) {
    const { data, error } = await createPayment({
      headers: { "Sandbox-Simulate": "paid" }, body: { amount, paymentMethodId: "sbx_spei", documentId: "GODE561231GR8" },
    });
    const made = want(data, error);
    return { id: made.transactionId, amountLocal: made.amountLocal };
  },
  async refund(id, amount) {
    const { data, error } = await refundPayment({ path: { id }, body: { amount } });
    return want(data, error).amount;
  },
  async read(id) {
    const { data, error } = await getPayment({ path: { id } });
    const read = want(data, error);
    return { amount: read.amount, refundable: read.refundableAmountLocal };
  },
});
