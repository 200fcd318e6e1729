// With the client that orval makes, which calls axios.
import { createPayment, getPayment, refundPayment } from "./orval/client.js";
import { root, token, trip } from "./trip.js";

const options = { baseURL: root, headers: { Authorization: `Bearer ${token}` } };

await trip({
  async pay(amount) {
    const { data } = await createPayment({ amount, paymentMethodId: "sbx_spei", documentId: "GODE561231GR8" }, undefined, {
      ...options, headers: { ...options.headers, "Sandbox-Simulate": "paid" },
    });
    return { id: data.transactionId, amountLocal: data.amountLocal };
  },
  async refund(id, amount) {
    return (await refundPayment(id, { amount }, undefined, options)).data.amount;
  },
  async read(id) {
    const { data } = await getPayment(id, undefined, options);
    return { amount: data.amount, refundable: data.refundableAmountLocal };
  },
});
