// What the compiler says about a caller's mistakes: the check of the SDKs compiles this file, and nobody runs it. A line below @ts-expect-error
// that compiles is an error.
import { type Cascada, type CreatedPayment, type EventType, type Page, type Payment } from "@cascadapay/sdk";

export async function mistakes(api: Cascada): Promise<void> {
  // Values that are misspelt.
  // @ts-expect-error
  await api.simulatePayment("TXN-1", { action: "payed" });
  // @ts-expect-error
  await api.listPayments({ status: "complete" });
  // @ts-expect-error
  await api.createWebhook({ events: ["payment.complete"] });
  // @ts-expect-error
  await api.updateWebhook("wh_1", { status: "enable" });
  // @ts-expect-error
  await api.replayEvents("wh_1", { from: "2026-01-01", types: ["*"] });
  // @ts-expect-error
  await api.createWallet({ type: "bank", currency: "MXN", destination: "032180000118359719" });

  // What is required, alone or as one of several.
  // @ts-expect-error
  await api.replayEvents("wh_1", { types: ["payment.failed"] });
  // @ts-expect-error
  await api.quoteWithdrawal();
  // @ts-expect-error
  await api.createPayment({ amount: "10" });
  // @ts-expect-error
  await api.createPayment({ paymentMethodId: "sbx_card" });
  // @ts-expect-error
  await api.createCheckoutSession({ amount: "10" });
  // @ts-expect-error
  await api.createPaymentLink({ description: "Yoga class" });
  // @ts-expect-error
  await api.updatePaymentLink("pl_1", {});
  // @ts-expect-error
  await api.createWebhook({ events: ["*"], url: "https://shop.example", authentication: { username: "cascada" } });

  // What may be null has to be looked at.
  const payment = await api.getPayment("TXN-1");
  // @ts-expect-error
  payment.installments?.amountLocal.length;
}

/** No mistakes: a cursor goes on to the next call, what a form left out may be undefined, and replies may have values that are new. */
export async function fine(api: Cascada, email: string | undefined): Promise<EventType[]> {
  let page: Page<Payment>;
  let cursor: string | null = null;
  do {
    page = await api.listPayments({ status: "completed", startingAfter: cursor });
    cursor = page.pagination.nextCursor;
  } while (cursor !== null);
  const made: CreatedPayment = await api.createPayment({ amount: "10", paymentMethodId: "sbx_card", userEmail: email });
  if (made.status === "on_hold_by_a_later_version") return [];
  await api.createCheckoutSession({ amount: "10", customer: { firstName: "Ana", lastName: "Souza", email: "ana@example.com", phone: "+5511999990000" } });
  await api.createWebhook({ events: ["*"], authentication: { header: "X-Api-Key", value: "secret" } });
  return (await api.listEvents({ type: "payment.failed" })).data.map((e) => e.type);
}
