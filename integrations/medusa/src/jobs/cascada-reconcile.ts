import type { MedusaContainer, Logger } from "@medusajs/framework/types";
import { ContainerRegistrationKeys } from "@medusajs/framework/utils";
import { clientOf, words } from "../lib/client.js";
import { configured } from "../lib/providers.js";
import { settle } from "../lib/settle.js";

/** How far the first run after a start and each later one look back, in milliseconds. What was done is not done again. */
const afterStart = 3 * 86_400_000;
const eachTime = 2 * 3_600_000;
const defaultAge = 60;
const started = new Set<string>();

/**
 * Reads the service's last events and does what Medusa has not: completes carts whose webhook was lost, and tells the merchant of
 * money without an order, refused refunds, disputes, and refunds that Medusa does not know.
 */
export default async function reconcile(container: MedusaContainer): Promise<void> {
  const logger = container.resolve(ContainerRegistrationKeys.LOGGER) as Logger;
  for (const { providerId, options } of configured(container)) {
    const now = Date.now();
    const from = new Date(now - (started.has(providerId) ? eachTime : afterStart)).toISOString();
    const to = new Date(now - (options.reconcileAfter ?? defaultAge) * 1000).toISOString();
    try {
      const client = clientOf(options);
      for await (const event of client.allEvents({ from, to })) await settle(container, client, providerId, event);
      started.add(providerId);
    } catch (e) {
      logger.error(`cascada: the events of ${providerId} could not be read to their end, the next run repeats it: ${words(e)}`);
    }
  }
}

export const config = {
  name: "cascada-reconcile",
  schedule: process.env["CASCADA_RECONCILE_SCHEDULE"] ?? "*/5 * * * *",
};
