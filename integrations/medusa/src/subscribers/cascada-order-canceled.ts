import type { SubscriberArgs, SubscriberConfig } from "@medusajs/framework";
import type { Logger } from "@medusajs/framework/types";
import { ContainerRegistrationKeys } from "@medusajs/framework/utils";
import type { Session } from "../lib/cart.js";
import { clientOf, endOpen } from "../lib/client.js";
import { readData } from "../lib/data.js";
import { configured } from "../lib/providers.js";

/**
 * Calls off the voucher or bank payment of an order that was canceled before it was paid. Medusa itself cancels and refunds only
 * payments that it has, and this one is only a session. If it fails, the money still comes, and the job tells the merchant.
 */
export default async function orderCanceled({ event, container }: SubscriberArgs<{ id: string }>): Promise<void> {
  const providers = configured(container);
  const query = container.resolve(ContainerRegistrationKeys.QUERY);
  const { data: orders } = await query.graph({
    entity: "order",
    fields: ["id", "payment_collections.payment_sessions.id", "payment_collections.payment_sessions.provider_id", "payment_collections.payment_sessions.data"],
    filters: { id: event.data.id },
  });
  const collections = (orders[0]?.payment_collections ?? []) as { payment_sessions?: Session[] }[];
  for (const session of collections.flatMap((c) => c.payment_sessions ?? [])) {
    const provider = providers.find((p) => p.providerId === session.provider_id);
    const data = readData(session.data);
    if (!provider || !data) continue;
    await endOpen(clientOf(provider.options), data);
    (container.resolve(ContainerRegistrationKeys.LOGGER) as Logger).info(`cascada: order ${event.data.id} was canceled: what waited of payment session ${session.id} is called off`);
  }
}

export const config: SubscriberConfig = { event: "order.canceled", context: { subscriberId: "cascada-order-canceled" } };
