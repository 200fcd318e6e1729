import type { MedusaContainer, Logger } from "@medusajs/framework/types";
import { ContainerRegistrationKeys } from "@medusajs/framework/utils";
import { clientOf, words } from "../lib/client.js";
import { configured } from "../lib/providers.js";
import { settle } from "../lib/settle.js";

const hour = 3_600_000;
/** The first run after a start reads the events of a week. A later one reads those since the last complete run, and two hours before. */
const afterStart = 7 * 24 * hour;
const overlap = 2 * hour;
const farthest = 30 * 24 * hour;
const defaultAge = 60;
/** Until when the events of a provider were read and dealt with. */
const complete = new Map<string, number>();

/**
 * Reads the service's last events and does what Medusa has not: completes carts whose webhook was lost, and tells the merchant of
 * money without an order, refused refunds, disputes, and refunds that Medusa does not know. What was done is not done again. An event
 * that fails holds up no other: the next run has it again.
 */
export default async function reconcile(container: MedusaContainer): Promise<void> {
  const logger = container.resolve(ContainerRegistrationKeys.LOGGER) as Logger;
  for (const { providerId, options } of configured(container)) {
    const now = Date.now();
    const until = now - (options.reconcileAfter ?? defaultAge) * 1000;
    const last = complete.get(providerId);
    const from = Math.max(last === undefined ? now - afterStart : last - overlap, now - farthest);
    let failed = 0;
    try {
      const client = clientOf(options);
      for await (const event of client.allEvents({ from: new Date(from).toISOString(), to: new Date(until).toISOString() })) {
        try {
          await settle(container, client, providerId, event);
        } catch (e) {
          failed++;
          logger.error(`cascada: event ${event.id} (${event.type}) of ${providerId} could not be dealt with, the next run repeats it: ${words(e)}`);
        }
      }
      if (failed === 0) complete.set(providerId, until);
    } catch (e) {
      logger.error(`cascada: the events of ${providerId} could not be read to their end, the next run repeats it: ${words(e)}`);
    }
  }
}

export const config = {
  name: "cascada-reconcile",
  schedule: process.env["CASCADA_RECONCILE_SCHEDULE"] ?? "*/5 * * * *",
};
