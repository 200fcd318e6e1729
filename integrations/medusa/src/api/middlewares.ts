import { defineMiddlewares, type MedusaNextFunction, type MedusaRequest, type MedusaResponse } from "@medusajs/framework/http";
import type { Logger } from "@medusajs/framework/types";
import { ContainerRegistrationKeys, MedusaError } from "@medusajs/framework/utils";
import { WebhookError } from "@cascadapay/sdk";
import { cartOf, sessionsOf } from "../lib/cart.js";
import { clientOf, isUnknown, paymentsOf, words } from "../lib/client.js";
import { readData } from "../lib/data.js";
import { found } from "../lib/found.js";
import { configured } from "../lib/providers.js";
import { verified } from "../providers/cascada/service.js";

/**
 * Refuses deliveries that the service did not sign. Medusa's route answers 200 before anything is verified, so a wrong secret would
 * look like success to the service, and its retries would end.
 */
async function verify(req: MedusaRequest, res: MedusaResponse, next: MedusaNextFunction): Promise<void> {
  const provider = configured(req.scope).find((p) => p.providerId === `pp_${req.params["provider"]}` || p.providerId === req.params["provider"]);
  if (!provider) return next();
  try {
    await verified(provider.options, { rawData: req.rawBody as Buffer, headers: req.headers });
  } catch (e) {
    if (!(e instanceof WebhookError)) return next(e);
    (req.scope.resolve(ContainerRegistrationKeys.LOGGER) as Logger).warn(`cascada: a webhook for ${provider.providerId} is refused: ${e.message}`);
    res.status(e.reason === "unreadable" ? 400 : 401).json({ type: "cascada_webhook", reason: e.reason, message: e.message });
    return;
  }
  next();
}

/** Adds what the checkout needs of the cart. What a browser sends under the same name is replaced. */
async function addCart(req: MedusaRequest, _: MedusaResponse, next: MedusaNextFunction): Promise<void> {
  const body = req.body as { provider_id?: string; data?: Record<string, unknown> } | undefined;
  const ours = configured(req.scope).some((p) => p.providerId === body?.provider_id);
  if (body && ours) body.data = { ...body.data, cascada_cart: await cartOf(req.scope, req.params["id"] ?? "") };
  next();
}

/**
 * Refuses changes of a cart that the shopper has paid or may have paid, before anything changes. Otherwise Medusa changes the cart, finds
 * that its session cannot be deleted, and leaves the payment collection with an amount that nobody has paid.
 */
async function refusePaid(req: MedusaRequest, _: MedusaResponse, next: MedusaNextFunction): Promise<void> {
  try {
    const providers = configured(req.scope);
    const collection = req.path.includes("/payment-collections/");
    for (const session of await sessionsOf(req.scope, collection ? { payment_collection_id: req.params["id"] } : { cart_id: req.params["id"] })) {
      const provider = providers.find((p) => p.providerId === session.provider_id);
      const data = readData(session.data);
      if (!provider || !data) continue;
      const now = found(await paymentsOf(clientOf(provider.options), session.id), data);
      const why = {
        paid: "is paid: it cannot change any more. Complete it.",
        wrong_amount: "was paid with another amount: it cannot change any more. Ask the shop.",
        unknown: "may be paid, which is not known yet: it cannot change now. Try again in a minute.",
      }[now.state as string];
      if (why) return next(new MedusaError(MedusaError.Types.NOT_ALLOWED, `Cascada: payment ${now.payment?.id} of this cart ${why}`));
    }
  } catch (e) {
    if (!isUnknown(e)) return next(e);
    return next(new MedusaError(MedusaError.Types.NOT_ALLOWED, `Cascada: it is not known whether this cart was paid: it cannot change now. Try again in a minute. (${words(e)})`));
  }
  next();
}

/** The routes of storefronts that change what a cart costs. */
const changes: { method: ("POST" | "DELETE")[]; matcher: string }[] = [
  { method: ["POST"], matcher: "/store/carts/:id" },
  { method: ["POST"], matcher: "/store/carts/:id/line-items" },
  { method: ["POST", "DELETE"], matcher: "/store/carts/:id/line-items/:line_id" },
  { method: ["POST", "DELETE"], matcher: "/store/carts/:id/promotions" },
  { method: ["POST"], matcher: "/store/carts/:id/shipping-methods" },
  { method: ["POST"], matcher: "/store/payment-collections/:id/payment-sessions" },
];

export default defineMiddlewares({
  routes: [
    ...changes.map((route) => ({ ...route, middlewares: [refusePaid] })),
    { method: ["POST"], matcher: "/hooks/payment/:provider", middlewares: [verify] },
    { method: ["POST"], matcher: "/store/payment-collections/:id/payment-sessions", middlewares: [addCart] },
  ],
});
