// Everything that the shop does with Cascada. Copy this file first.
//
// Each call has three steps: store what is wanted, call, store the answer. carryOut does what is wanted and not yet answered. It runs after each
// change, after a start and twice a minute, and each call may be repeated: opening a checkout and refunding have an Idempotency-Key that was stored
// before, and canceling twice is canceling once. So a crash between any two lines pays, refunds and cancels exactly once.
import { randomBytes } from "node:crypto";
import { Cascada, CascadaConnectionError, CascadaError, decimal, type Event, type Payment as ApiPayment, type Claim as ApiClaim } from "@cascadapay/sdk";
import { config } from "./config.js";
import { status, toCancel, toOpen, toRefund, paidBy, refunded, type Claim, type Draft, type Order, type Payment, type Refund } from "./orders.js";
import type { Store } from "./store.js";
import { productName } from "./texts.js";
import { Turns } from "./turns.js";

/** The events that change an order. setup.ts subscribes to them. */
export const eventTypes = [
  "payment.pending", "payment.completed", "payment.failed", "payment.refunded", "payment.attention", "claim.opened", "claim.resolved",
  "checkout.session.expired",
] as const;

/** Keys are kept for seven days. After that a repeat would be a new request, so we stop a day before. In milliseconds. */
const keyLife = 6 * 24 * 3600_000;
/** The same order is not read more often than this, in milliseconds. */
const readPause = 5_000;

export class Payments {
  private readonly cascada = new Cascada({ url: config.cascada.url, secretKey: config.cascada.secretKey, timeout: 30_000 });
  private readonly turns = new Turns();
  private readonly readAt = new Map<string, number>();

  constructor(private readonly store: Store) {}

  /**
   * Buys what is in a cart, once: a double click, a press of Back and a second tab get the same order. The order may be paid already.
   * Throws if Cascada does not answer. The order is kept then, and buying again is safe.
   */
  buy(draft: Draft): Promise<Order> {
    return this.turns.run(`cart ${draft.cartId}`, async () => {
      let order = this.store.ofCart(draft.cartId);
      // The cart was changed, or its payment failed. The first order must not be paid any more, and perhaps it just has been.
      if (order && isOpen(order) && !isSame(order, draft)) await this.cancel(order);
      if (order && status(order) === "canceling") throw new StillOpen();
      if (!order || !(isOpen(order) || hasMoney(order))) {
        const id = `o-${randomBytes(10).toString("hex")}`;
        this.store.add({ fact: "placed", order: id, at: new Date().toISOString(), draft });
        order = this.store.get(id)!;
      }
      await this.carryOut(order);
      return order;
    });
  }

  /** Cancels an order, unless its shopper was faster. A payment that begins after this is called off as soon as its event comes. */
  async cancel(order: Order): Promise<void> {
    await this.read(order); // there may be a payment that we have not heard of
    if (paidBy(order).length > 0) return;
    if (!order.canceledAt) this.store.add({ fact: "canceled", order: order.id, at: new Date().toISOString() });
    await this.carryOut(order);
  }

  /** Refunds a part or all of what is left. The same id does it once. */
  async refund(order: Order, refund: Refund): Promise<"done" | "too_much"> {
    if (!order.refunds.has(refund.id)) {
      const payment = paidBy(order).find((p) => p.id === refund.paymentId);
      if (!payment || decimal.compare(refund.amount, refunded(order, payment).left) > 0) return "too_much";
      this.store.add({ fact: "refund", order: order.id, refund });
    }
    await this.carryOut(order);
    return "done";
  }

  /** Does what is wanted of an order and not answered yet. */
  carryOut(order: Order): Promise<void> {
    return this.turns.run(order.id, async () => {
      if (toOpen(order)) await this.open(order);
      for (const payment of toCancel(order)) await this.callOff(order, payment);
      for (const refund of toRefund(order)) await this.giveBack(order, refund);
    });
  }

  private async open(order: Order): Promise<void> {
    if (tooOld(order.placedAt)) return this.store.add({ fact: "refused", order: order.id, refusal: "too_late" });
    try {
      const session = await this.cascada.createCheckoutSession(
        {
          amount: order.amount, currency: order.currency, country: order.country, customer: order.customer, merchantOrderId: order.id,
          returnUrl: `${config.url}/orders/${order.id}`,
          lineItems: order.lines.map(({ sku, quantity, unitAmount }) => ({ sku, name: productName(sku, order.language), quantity: String(quantity), unitAmount })),
        },
        { idempotencyKey: order.id },
      );
      const url = new URL(session.checkoutUrl);
      url.searchParams.set("lang", order.language);
      this.store.add({ fact: "opened", order: order.id, sessionId: session.sessionId, url: url.href });
    } catch (e) {
      if (!isRefusal(e)) throw e;
      this.store.add({ fact: "refused", order: order.id, refusal: e.code });
    }
  }

  private async callOff(order: Order, payment: Payment): Promise<void> {
    try {
      await this.cascada.cancelPayment(payment.id);
    } catch (e) {
      if (!isRefusal(e)) throw e; // conflict_state: it has ended in the meantime, perhaps paid
    }
    await this.read(order);
  }

  private async giveBack(order: Order, refund: Refund): Promise<void> {
    // It is not known whether this was refunded: a person has to look.
    if (tooOld(refund.at)) return this.store.add({ fact: "unrefunded", order: order.id, refund: refund.id, refusal: "too_late" });
    try {
      const { refundId } = await this.cascada.refundPayment(
        refund.paymentId, { amount: refund.amount, currency: order.currency, reason: refund.reason }, { idempotencyKey: refund.id },
      );
      // It is a promise. claim.resolved says how it ended.
      this.store.add({ fact: "refunding", order: order.id, refund: refund.id, claimId: refundId });
    } catch (e) {
      if (!isRefusal(e)) throw e;
      this.store.add({ fact: "unrefunded", order: order.id, refund: refund.id, refusal: e.code });
    }
  }

  /** Stores what an event says. It is stored when this returns; what follows from it is done later. Twice is once, and the order does not matter. */
  receive(event: Event): void {
    if (this.store.knowsEvent(event.id)) return;
    const of = { fact: "event", event: event.id, at: event.createdAt } as const;
    switch (event.type) {
      case "payment.pending": case "payment.completed": case "payment.failed": case "payment.refunded": case "payment.attention": {
        const object = event.data.object;
        return this.happened(object.merchantOrderId, (order) => this.store.add({ ...of, order, payment: paymentOf(object, event.sequence) }));
      }
      case "claim.opened": case "claim.resolved": {
        const object = event.data.object;
        return this.happened(object.merchantOrderId, (order) => this.store.add({ ...of, order, claim: claimOf(object, event.sequence) }));
      }
      case "checkout.session.expired":
        return this.happened(event.data.object.merchantOrderId, (order) => this.store.add({ ...of, order, expired: true }));
      default: // the service will have more types one day
    }
  }

  private happened(orderId: string | null, add: (order: string) => void): void {
    const order = this.store.get(orderId ?? "");
    if (!order) return; // another system sells with the same keys
    add(order.id);
    this.later(order);
  }

  /** Reads the events of an order's payments: for a shopper who comes back before the webhook does. */
  async read(order: Order): Promise<void> {
    for await (const payment of this.cascada.allPayments({ merchantOrderId: order.id })) {
      for await (const event of this.cascada.allEvents({ objectId: payment.id })) this.receive(event);
    }
  }

  /** As read, in the background and not too often. Whoever watches the order sees what it finds. */
  readSoon(order: Order): void {
    const now = performance.now();
    if (now - (this.readAt.get(order.id) ?? -Infinity) < readPause) return;
    this.readAt.set(order.id, now);
    if (this.readAt.size > 1000) this.readAt.delete(this.readAt.keys().next().value!);
    this.read(order).catch((e: unknown) => report(order, e));
  }

  /** After a start: reads the events that came while we were away, and does what was begun. */
  async catchUp(): Promise<void> {
    const oldest = this.store.all().at(-1);
    if (!oldest) return;
    // Deliveries may overtake each other, so it begins earlier. What is known already is dropped.
    const from = new Date(Date.parse(this.store.newestEvent ?? oldest.placedAt) - 3600_000).toISOString();
    for await (const event of this.cascada.allEvents({ from })) this.receive(event);
    this.carryOutAll();
  }

  /** Does what is left of all orders: calls whose answer was lost, and those that the service could not carry out. */
  carryOutAll(): void {
    for (const order of this.store.all()) if (toOpen(order) || toCancel(order).length > 0 || toRefund(order).length > 0) this.later(order);
  }

  private later(order: Order): void {
    this.carryOut(order).catch((e: unknown) => report(order, e));
  }

  /** Waits for the calls that have begun. */
  end(): Promise<void> {
    return this.turns.end();
  }
}

/** The cart's earlier order can still be paid: it must end before there is another one. */
export class StillOpen extends Error {}

/** The order is not paid, and may still be. */
const isOpen = (order: Order): boolean => ["opening", "open", "waiting", "failed", "canceling"].includes(status(order));

/** Money of the order came: in time, or late. */
const hasMoney = (order: Order): boolean => paidBy(order).length > 0 || status(order) === "held";

/** The order is what the shopper wants to buy now. */
function isSame(order: Order, draft: Draft): boolean {
  const picture = ({ country, amount, lines, customer, mode }: Draft) => JSON.stringify([country, amount, lines, customer, mode]);
  return ["opening", "open", "waiting"].includes(status(order)) && picture(order) === picture(draft);
}

const tooOld = (at: string): boolean => Date.now() - Date.parse(at) > keyLife;

/** The service said no, and would say so again. All else is worth a repeat: no answer, 5xx, too many requests, a key that was revoked, a proxy's error. */
function isRefusal(e: unknown): e is CascadaError {
  return e instanceof CascadaError && e.status >= 400 && e.status < 500 && ![401, 403, 429].includes(e.status) && e.code !== "" && e.code !== "idempotency_conflict";
}

/** Only what the shop needs. The rest is personal data that it would have to look after. */
const paymentOf = (p: ApiPayment, sequence: number): Payment => ({
  id: p.id, sequence, status: p.status, method: p.paymentMethod, amount: p.amountLocal, currency: p.currencyLocal,
  failure: p.failure?.declineCode ?? p.failure?.code ?? null,
  attention: p.attention?.code ?? (p.failure?.code === "outcome_unknown" ? "outcome_unknown" : null),
});

const claimOf = (c: ApiClaim, sequence: number): Claim => ({
  id: c.id, sequence, paymentId: c.transactionId, type: c.type, amount: c.amount, outcome: c.outcome,
});

/** Never log a whole error of a payment: log what support can use. */
export function report(order: Order | undefined, e: unknown): void {
  if (e instanceof CascadaError) console.error("shop:", order?.id ?? "", e.status, e.code, e.requestId);
  else if (e instanceof CascadaConnectionError) console.error("shop:", order?.id ?? "", e.message);
  else console.error("shop:", order?.id ?? "", e);
}
