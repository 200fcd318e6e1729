import { processPaymentWorkflow } from "@medusajs/medusa/core-flows";
import type { Cascada, Claim, Event, Payment } from "@cascadapay/sdk";
import type { INotificationModuleService, Logger, MedusaContainer } from "@medusajs/framework/types";
import { BigNumber, ContainerRegistrationKeys, Modules, PaymentActions } from "@medusajs/framework/utils";
import { isReturned, requested } from "./found.js";
import { madeByUs } from "./refunds.js";

/** What Medusa has of a payment session. */
interface Known {
  id: string;
  provider_id: string;
  payment_collection_id: string;
  payment?: { id: string; captured_at: string | null; data?: Record<string, unknown>; refunds?: unknown[] } | null;
}

/** Does what Medusa has not done after an event of the service. Repeats change nothing. */
export async function settle(container: MedusaContainer, client: Cascada, providerId: string, event: Event): Promise<void> {
  switch (event.type) {
    case "payment.completed":
      return settlePayment(container, client, providerId, event.data.object as Payment);
    case "payment.failed":
      return settleFailed(container, event.data.object as Payment);
    case "payment.attention": {
      const p = event.data.object as Payment;
      if (!p.attention || !isOurs(p)) return;
      return tell(container, `${p.id}-${p.attention.code}-${p.attention.amountLocal}`, "Money that does not fit", `Payment ${p.id}: ${p.attention.amountLocal} ${p.attention.currencyLocal} came (${p.attention.code}), ${p.amountLocal} ${p.currencyLocal} were expected. See it in Cascada.`);
    }
    case "payment.refunded": {
      const p = event.data.object as Payment;
      const refund = p.refund;
      if (!refund || !isOurs(p) || madeByUs([{ ...refund, id: refund.refundId, type: "user_dispute", outcome: null } as unknown as Claim]).length > 0) return;
      return tell(container, refund.refundId, "Refunded outside of Medusa", `${refund.amount} ${refund.currency} of payment ${p.id} were refunded by ${refund.origin === "merchant" ? "your team in Cascada" : `the ${refund.origin}`}. Medusa does not show it.`);
    }
    case "claim.opened": {
      const c = event.data.object as Claim;
      if (c.type === "user_dispute" || !c.merchantOrderId?.startsWith("payses_")) return;
      return tell(container, c.id, c.type === "chargeback" ? "A payment is disputed" : "Money came late or twice", `Payment ${c.transactionId}: ${c.amount} ${c.currency} (${c.reason ?? c.type}). Answer it in Cascada: ${c.id}.`);
    }
    case "claim.resolved": {
      const c = event.data.object as Claim;
      if (c.type !== "user_dispute" || c.outcome !== "rejected" || !c.merchantOrderId?.startsWith("payses_")) return;
      return tell(container, `${c.id}-rejected`, "A refund did not arrive", `${c.amount} ${c.currency} of payment ${c.transactionId} were not refunded: the provider refused. Medusa shows them as refunded. Refund them in another way, or in Cascada (${c.id}).`);
    }
  }
}

async function settlePayment(container: MedusaContainer, client: Cascada, providerId: string, paid: Payment): Promise<void> {
  if (!isOurs(paid)) return;
  const sessionId = paid.merchantOrderId ?? "";
  const price = `${requested(paid).amount} ${requested(paid).currency}`;
  let session = await known(container, sessionId);
  if (!session) {
    if (await wasTold(container, `${paid.id}-orphan`)) return;
    // Either its cart had changed since, or Medusa could not complete the cart: then it gave the money back and made a new session.
    const note = isReturned(await client.getPayment(paid.id)) ? "It was given back." : "Give the money back in Cascada, or make the order.";
    return tell(container, `${paid.id}-orphan`, "Money without an order", `Payment ${paid.id} of ${price} was made, and its session ${sessionId} is gone: its cart changed, or its order could not be made. ${note}`);
  }
  if (session.provider_id !== providerId) return;
  let failure = "";
  if (!session.payment?.captured_at || !(await orderOf(container, session))) {
    if (session.payment?.refunds?.length) return; // Medusa gave the money back because it could not make the order: it was told then
    try {
      await processPaymentWorkflow(container).run({
        input: { action: PaymentActions.SUCCESSFUL, data: { session_id: sessionId, amount: new BigNumber(requested(paid).amount) } },
      });
    } catch (e) {
      failure = (e as { message?: string } | undefined)?.message ?? String(e);
    }
    session = (await known(container, sessionId)) ?? session;
  }
  const order = await orderOf(container, session);
  if (!session.payment?.captured_at || !order) {
    const back = (session.payment?.refunds?.length ?? 0) > 0;
    const note = back ? "Medusa has refunded it." : "The money is still here: give it back, or make the order.";
    return tell(container, `${paid.id}-no-order`, "Money without an order", `Payment ${paid.id} of ${price} was made, and Medusa could not complete its cart${failure && ` (${failure})`}. ${note}`);
  }
  if (await wasTold(container, `${paid.id}-no-order`)) await tell(container, `${paid.id}-order`, "The order was made", `Payment ${paid.id} of ${price}, which had no order: order ${order} was made in a later try.`);
  if (!session.payment.refunds?.length && (await isCanceled(container, order))) {
    await tell(container, `${paid.id}-canceled`, "A canceled order was paid", `Payment ${paid.id} of ${price} was made for order ${order}, which is canceled. Refund it, or make the order again.`);
  }
  if (session.payment.data?.["transaction_id"] !== paid.id) {
    await tell(container, `${paid.id}-twice`, "Paid twice", `Payment ${paid.id} of ${price} was made for order ${order}, which was paid by ${session.payment.data?.["transaction_id"]}. Give one back in Cascada.`);
  }
}

/** An order that was placed before its voucher was paid stays unpaid if the voucher expires. */
async function settleFailed(container: MedusaContainer, p: Payment): Promise<void> {
  if (!isOurs(p) || p.failure?.declineCode === "another_way") return;
  const session = await known(container, p.merchantOrderId ?? "");
  if (!session || session.payment) return;
  const order = await orderOf(container, session);
  if (order && !(await isCanceled(container, order))) await tell(container, `${p.id}-unpaid`, "An order was not paid", `Order ${order}: payment ${p.id} ended without money (${p.failure?.code ?? p.status}). Cancel the order, or agree with the shopper.`);
}

function isOurs(p: Payment): boolean {
  return p.merchantOrderId?.startsWith("payses_") ?? false;
}

async function known(container: MedusaContainer, sessionId: string): Promise<Known | undefined> {
  const query = container.resolve(ContainerRegistrationKeys.QUERY);
  const { data } = await query.graph({
    entity: "payment_session",
    fields: ["id", "provider_id", "payment_collection_id", "payment.id", "payment.captured_at", "payment.data", "payment.refunds.id"],
    filters: { id: sessionId },
  });
  return data[0] as unknown as Known | undefined;
}

/** The order of a session, or what the payment collection belongs to besides a cart, such as a change of an order. */
async function orderOf(container: MedusaContainer, session: Known): Promise<string | undefined> {
  const query = container.resolve(ContainerRegistrationKeys.QUERY);
  const { data } = await query.graph({ entity: "order_payment_collection", fields: ["order_id"], filters: { payment_collection_id: session.payment_collection_id } });
  return (data[0] as { order_id?: string } | undefined)?.order_id;
}

async function isCanceled(container: MedusaContainer, orderId: string): Promise<boolean> {
  const query = container.resolve(ContainerRegistrationKeys.QUERY);
  const { data } = await query.graph({ entity: "order", fields: ["status"], filters: { id: orderId } });
  return data[0]?.status === "canceled";
}

async function wasTold(container: MedusaContainer, key: string): Promise<boolean> {
  const notifications = container.resolve(Modules.NOTIFICATION) as INotificationModuleService;
  return (await notifications.listNotifications({ idempotency_key: `cascada-${key}` } as Record<string, unknown>, { take: 1 })).length > 0;
}

/** Tells the merchant once: in the log, and among the notifications of the admin, if a provider of notifications has the channel feed. */
async function tell(container: MedusaContainer, key: string, title: string, description: string): Promise<void> {
  if (await wasTold(container, key)) return;
  const notifications = container.resolve(Modules.NOTIFICATION) as INotificationModuleService;
  (container.resolve(ContainerRegistrationKeys.LOGGER) as Logger).error(`cascada: ${title}: ${description}`);
  try {
    await notifications.createNotifications({ to: "", channel: "feed", template: "admin-ui", idempotency_key: `cascada-${key}`, data: { title, description } });
  } catch (e) {
    (container.resolve(ContainerRegistrationKeys.LOGGER) as Logger).warn(`cascada: this is only in the log, because no provider of notifications has the channel feed: ${String(e)}`);
  }
}
