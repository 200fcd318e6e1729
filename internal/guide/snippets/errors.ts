//= begin
import { Cascada, CascadaConnectionError, CascadaError } from "@cascadapay/sdk";

const cascada = new Cascada({ url: "https://pay.example", secretKey: "sk_test_…" });
//= catch
try {
  await cascada.createPayment({ amount: "5", currency: "MXN", paymentMethodId: "sbx_cash" });
} catch (e) {
  if (e instanceof CascadaError) console.log(e.code, e.details.limit?.min);
  else if (e instanceof CascadaConnectionError) console.log("not known: repeat it with the key", e.idempotencyKey);
  else throw e;
}
