// With the client of openapi-fetch, which reads the types of openapi-typescript.
import createClient from "openapi-fetch";
import type { paths } from "./cascada.js";
import { root, token, trip, want } from "./trip.js";

const api = createClient<paths>({ baseUrl: root, headers: { Authorization: `Bearer ${token}` } });

await trip({
  async pay(amount) {
    const { data, error } = await api.POST("/payments", {
      params: { header: { "Sandbox-Simulate": "paid" } }, body: { amount, paymentMethodId: "sbx_spei", documentId: "GODE561231GR8" },
    });
    const made = want(data, error);
    return { id: made.transactionId, amountLocal: made.amountLocal };
  },
  async refund(id, amount) {
    const { data, error } = await api.POST("/payments/{id}/refund", { params: { path: { id } }, body: { amount } });
    return want(data, error).amount;
  },
  async read(id) {
    const { data, error } = await api.GET("/payments/{id}", { params: { path: { id } } });
    const read = want(data, error);
    return { amount: read.amount, refundable: read.refundableAmountLocal };
  },
});
