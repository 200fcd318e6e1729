import { Cascada, CascadaConnectionError, CascadaError, decimal, readWebhook, WebhookError, type Claim, type Event, type Payment } from "@cascadapay/sdk";
import type {
  AuthorizePaymentInput, AuthorizePaymentOutput, BigNumberInput, CancelPaymentInput, CancelPaymentOutput, CapturePaymentInput, CapturePaymentOutput,
  DeletePaymentInput, DeletePaymentOutput, GetPaymentStatusInput, GetPaymentStatusOutput, InitiatePaymentInput, InitiatePaymentOutput, Logger,
  ProviderWebhookPayload, RefundPaymentInput, RefundPaymentOutput, RetrievePaymentInput, RetrievePaymentOutput, UpdatePaymentInput,
  UpdatePaymentOutput, WebhookActionResult,
} from "@medusajs/framework/types";
import { AbstractPaymentProvider, BigNumber, MathBN, MedusaError, PaymentActions, PaymentSessionStatus } from "@medusajs/framework/utils";
import { rounded } from "../../lib/amounts.js";
import { checkoutOf, customerOf, type CartFacts } from "../../lib/checkout.js";
import { clientOf, endOpen, isUnknown, paymentsOf, words } from "../../lib/client.js";
import { readData, type SessionData } from "../../lib/data.js";
import { found, paidLater, remember, requested, type Found } from "../../lib/found.js";
import { checkOptions, returnTo, type Options } from "../../lib/options.js";
import { localAmount, madeByUs, reasonOf } from "../../lib/refunds.js";

/** What the Payment Module's container has and this provider uses. */
interface Container {
  logger: Logger;
  refundService: { list(filters: { id: string[] }): Promise<{ id: string }[]> };
  paymentSessionService: { list(filters: { id: string[] }): Promise<{ id: string }[]> };
}

/** The most time of a refund's call before an answer is lost, in milliseconds of one try. */
const refundTimeout = 30_000;

/**
 * Payments through a Cascada service. The shopper pays on a hosted page, and what is paid is captured: there is no separate
 * capture. Every decision asks the service; what browsers and stored data say is not relied upon.
 */
export default class CascadaProvider extends AbstractPaymentProvider<Options> {
  static override identifier = "cascada";

  private readonly client: Cascada;
  private readonly logger: Logger;

  static override validateOptions(options: Record<string, unknown>): void {
    checkOptions(options as Partial<Options>);
  }

  constructor(private readonly resources: Container, private readonly options: Options) {
    super(resources as unknown as Record<string, unknown>, options);
    this.logger = resources.logger;
    this.client = clientOf(checkOptions(options));
  }

  /** Opens a hosted checkout. A repeat for the same payment session gets the same one. */
  async initiatePayment(input: InitiatePaymentInput): Promise<InitiatePaymentOutput> {
    const sessionId = input.data?.["session_id"];
    if (typeof sessionId !== "string") throw refuse("the payment session has no id");
    const data = await this.open(sessionId, input, undefined);
    return { id: data.session_id, data, status: PaymentSessionStatus.PENDING };
  }

  /**
   * Opens another checkout for a changed amount, and ends the one before, with the payments that wait. If one was paid, the amount cannot
   * change any more, and this is refused.
   */
  async updatePayment(input: UpdatePaymentInput): Promise<UpdatePaymentOutput> {
    const data = readData(input.data);
    if (!data) throw refuse("the payment session has no checkout: make a new one");
    const amount = this.digits(input.amount, input.currency_code);
    if (decimal.equal(amount, data.amount) && input.currency_code.toUpperCase() === data.currency) return { data: { ...input.data, ...data } };
    // First the new one, which nobody sees before this returns: if it is refused, the one before is as it was.
    const next = await this.open(data.session_id, input, data);
    await this.end(data, "changed");
    return { data: { ...input.data, ...next }, status: PaymentSessionStatus.PENDING };
  }

  /** Called before a session is deleted, such as when the cart changes. Calls off what waits; refused if the shopper has paid. */
  async deletePayment(input: DeletePaymentInput): Promise<DeletePaymentOutput> {
    const data = readData(input.data);
    if (data) await this.end(data, "deleted");
    return { data: input.data ?? {} };
  }

  async authorizePayment(input: AuthorizePaymentInput): Promise<AuthorizePaymentOutput> {
    const data = readData(input.data);
    if (!data) throw refuse("the payment session has no checkout: make a new one");
    let now: Found;
    try {
      now = await this.find(data);
    } catch (e) {
      if (!isUnknown(e)) throw refuse(words(e));
      // Not known is not failed: the session stays usable, and a webhook or the job completes the cart.
      this.logger.warn(`cascada: it is not known whether payment session ${data.session_id} was paid: ${words(e)}`);
      return { status: PaymentSessionStatus.REQUIRES_MORE, data };
    }
    const next = remember(data, now);
    switch (now.state) {
      case "paid":
        return { status: PaymentSessionStatus.CAPTURED, data: next };
      case "wrong_amount":
        throw refuse(`payment ${now.payment?.id} was made for ${price(now.payment)}, before the cart changed to ${data.amount} ${data.currency}: give the money back, or complete the order by hand`);
      case "unknown":
      case "waiting":
        // Medusa says "authorization failed" of a pending status, and a shopper who reads that pays twice.
        return { status: this.options.pendingOrders && paidLater(now.payment) ? PaymentSessionStatus.PENDING_AUTHORIZATION : PaymentSessionStatus.REQUIRES_MORE, data: next };
      case "choosing":
        return { status: PaymentSessionStatus.REQUIRES_MORE, data: next };
      case "canceled":
      case "returned":
        return { status: PaymentSessionStatus.CANCELED, data: next };
      case "failed":
        return { status: PaymentSessionStatus.ERROR, data: next };
    }
  }

  /** Nothing is left to capture of what was paid. Refused as long as it is not. */
  async capturePayment(input: CapturePaymentInput): Promise<CapturePaymentOutput> {
    const { data, now } = await this.current(input.data);
    if (now.state !== "paid") throw refuse("the shopper has not paid yet: the payment is captured by that");
    return { data: remember(data, now) };
  }

  /** Calls off what waits for the shopper. What was paid is refunded, not canceled. */
  async cancelPayment(input: CancelPaymentInput): Promise<CancelPaymentOutput> {
    const data = readData(input.data);
    if (!data) return { data: input.data ?? {} };
    await this.end(data, "canceled");
    return { data: remember(data, await this.ask(() => this.find(data))) };
  }

  /**
   * Refunds a part or all. An answer may be lost, and Medusa then drops its refund: before another one is made, those that the
   * service made are read, and one of the same amount that Medusa does not know is taken as this one.
   */
  async refundPayment(input: RefundPaymentInput): Promise<RefundPaymentOutput> {
    const { data, now } = await this.current(input.data);
    const payment = now.payment;
    const id = input.context?.idempotency_key;
    // "returned" too: the answer to the refund of all may have been lost.
    if ((now.state !== "paid" && now.state !== "returned") || !payment) throw refuse("the shopper has not paid: nothing can be refunded");
    if (!id) throw refuse("the refund has no id");
    const amount = this.digits(input.amount, data.currency);
    const lost = await this.lost(payment, data);
    const same = lost.find((made) => decimal.equal(made.amount, amount));
    if (same) {
      this.logger.info(`cascada: refund ${same.claim.id} of ${payment.id} was made before and its answer was lost: it is refund ${id} now`);
      return { data: withRefund(data, now, id, amount, same.claim) };
    }
    if (lost[0]) throw refuse(`${lost[0].amount} ${data.currency} of payment ${payment.id} were refunded before, and the answer was lost: refund that amount first, nothing is paid twice`);
    try {
      const made = await this.client.refundPayment(
        payment.id,
        { amount: localAmount(payment, data, amount), currency: payment.currencyLocal, reason: reasonOf(id, amount, data.currency) },
        { idempotencyKey: id, timeout: refundTimeout },
      );
      return { data: withRefund(data, now, id, amount, { id: made.refundId, amount: made.amount }) };
    } catch (e) {
      if (isUnknown(e)) throw refuse(`it is not known whether ${amount} ${data.currency} were refunded: ${words(e)}. Refund the same amount again later: it is not paid twice`);
      throw refuse(words(e));
    }
  }

  async retrievePayment(input: RetrievePaymentInput): Promise<RetrievePaymentOutput> {
    const { data, now } = await this.current(input.data);
    return { data: { ...remember(data, now), payment: now.payment as unknown as Record<string, unknown> } };
  }

  async getPaymentStatus(input: GetPaymentStatusInput): Promise<GetPaymentStatusOutput> {
    const { data, now } = await this.current(input.data);
    return { status: statusOf(now), data: remember(data, now) };
  }

  /** Verifies a delivery. A bad signature is an error; events about payments that this Medusa does not know do nothing. */
  async getWebhookActionAndData(payload: ProviderWebhookPayload["payload"]): Promise<WebhookActionResult> {
    const event = await verified(this.options, payload);
    const action = actionOf(event);
    if (action === PaymentActions.NOT_SUPPORTED) return { action };
    const payment = event.data.object as Payment;
    const sessionId = payment.merchantOrderId ?? "";
    if (!sessionId.startsWith("payses_")) return { action: PaymentActions.NOT_SUPPORTED };
    if ((await this.resources.paymentSessionService.list({ id: [sessionId] })).length === 0) {
      // The cart changed, or this is the database of another shop. The job tells the merchant if money came.
      this.logger.warn(`cascada: ${event.type} of ${payment.id}: there is no payment session ${sessionId}`);
      return { action: PaymentActions.NOT_SUPPORTED };
    }
    return { action, data: { session_id: sessionId, amount: new BigNumber(requested(payment).amount) } };
  }

  /** Opens a checkout; the next one of before, if there is one. */
  private async open(sessionId: string, input: InitiatePaymentInput, before: SessionData | undefined): Promise<SessionData> {
    const facts = (input.data?.["cascada_cart"] ?? {}) as Partial<CartFacts>;
    const currency = input.currency_code.toUpperCase();
    const amount = this.digits(input.amount, currency);
    const { customer, missing } = customerOf({ ...factsOf(input), ...present(facts) });
    if (missing.length > 0) throw refuse(`the cart has no ${missing.join(", ")} of the customer: set its e-mail and an address with name and phone (with the country code) first`);
    const returnUrl = returnTo(this.options, input.data?.["return_url"]);
    if (returnUrl === undefined) throw refuse("data.return_url is not on an origin of the options returnUrl and returnOrigins");
    const checkouts = (before?.checkouts ?? 0) + 1;
    const made = await this.ask(() =>
      this.client.createCheckoutSession(checkoutOf({ sessionId, amount, currency, returnUrl, customer, facts }), { idempotencyKey: `${sessionId}-${checkouts}-${amount}${currency}` }),
    );
    return {
      session_id: sessionId, cart_id: facts.id ?? before?.cart_id ?? null, checkout_url: made.checkoutUrl, checkout_expires_at: made.expiresAt, amount, currency, checkouts,
      transaction_id: null, transaction_status: null, payment_method: null, amount_local: null, currency_local: null, failure_code: null, decline_code: null, refunds: [],
    };
  }

  /** Ends the checkout and calls off the payments that wait. Refused if one was paid and not given back, or if it is not known. */
  private async end(data: SessionData, act: string): Promise<void> {
    await this.ask(() => endOpen(this.client, data));
    const now = await this.ask(() => this.find(data));
    if (now.payment && (now.state === "paid" || now.state === "wrong_amount")) {
      throw refuse(`payment ${now.payment.id} of ${price(now.payment)} is paid: its session cannot be ${act} any more`);
    }
    if (now.state === "unknown") throw refuse(`it is not known yet whether payment ${now.payment?.id} was made: its session cannot be ${act} now`);
  }

  /** The refunds that this plugin made and Medusa does not know, because their answers were lost. */
  private async lost(payment: Payment, data: SessionData) {
    const claims: Claim[] = [];
    await this.ask(async () => {
      claims.length = 0;
      for await (const claim of this.client.allClaims({ transactionId: payment.id, type: "user_dispute" })) claims.push(claim);
    });
    const candidates = madeByUs(claims).filter((made) => !data.refunds.some((r) => r.claimId === made.claim.id));
    if (candidates.length === 0) return [];
    // A refund that another person makes at this moment has its row already.
    const rows = await this.resources.refundService.list({ id: candidates.map((made) => made.id) });
    return candidates.filter((made) => !rows.some((row) => row.id === made.id));
  }

  private async current(kept: Record<string, unknown> | undefined): Promise<{ data: SessionData; now: Found }> {
    const data = readData(kept);
    if (!data) throw refuse("the payment session has no checkout");
    return { data, now: await this.ask(() => this.find(data)) };
  }

  private async find(data: SessionData): Promise<Found> {
    return found(await paymentsOf(this.client, data.session_id), data);
  }

  /** Makes Medusa's errors of the service's, with their words. */
  private async ask<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (e) {
      if (e instanceof CascadaError || e instanceof CascadaConnectionError) throw refuse(words(e));
      throw e;
    }
  }

  private digits(amount: BigNumberInput, currency: string): string {
    return rounded(MathBN.convert(amount).toFixed(), currency.toUpperCase());
  }
}

/** Verifies the delivery that Medusa's route received. WebhookError. */
export async function verified(options: Options, payload: { rawData?: string | Buffer; headers: Record<string, unknown> }): Promise<Event> {
  if (payload.rawData === undefined) throw new WebhookError("unreadable", "the delivery has no body");
  return readWebhook({ secret: options.webhookSecret, headers: payload.headers as Record<string, string>, body: payload.rawData });
}

function actionOf(event: Event): WebhookActionResult["action"] {
  switch (event.type) {
    case "payment.completed":
      return PaymentActions.SUCCESSFUL;
    case "payment.failed":
      return (event.data.object as Payment).failure?.code === "canceled" ? PaymentActions.CANCELED : PaymentActions.FAILED;
    case "payment.pending":
      return PaymentActions.PENDING;
    default:
      return PaymentActions.NOT_SUPPORTED;
  }
}

function statusOf(now: Found): PaymentSessionStatus {
  switch (now.state) {
    case "paid":
      return PaymentSessionStatus.CAPTURED;
    case "waiting":
      return PaymentSessionStatus.REQUIRES_MORE;
    case "choosing":
    case "unknown":
      return PaymentSessionStatus.PENDING;
    case "canceled":
    case "returned":
      return PaymentSessionStatus.CANCELED;
    case "failed":
    case "wrong_amount":
      return PaymentSessionStatus.ERROR;
  }
}

/** Medusa shows the message of this type to the merchant; it replaces those of others. */
function refuse(message: string): MedusaError {
  return new MedusaError(MedusaError.Types.NOT_ALLOWED, `Cascada: ${message}`);
}

function price(p: Payment | undefined): string {
  const of = p && requested(p);
  return of ? `${of.amount} ${of.currency}` : "";
}

function withRefund(data: SessionData, now: Found, id: string, amount: string, made: { id: string; amount: string }): SessionData {
  return { ...remember(data, now), refunds: [...data.refunds, { id, claimId: made.id, amount, amountLocal: made.amount }] };
}

/** What is known of a signed-in customer, for carts whose address does not say it. */
function factsOf(input: InitiatePaymentInput): Partial<CartFacts> {
  const c = input.context?.customer;
  return present({ email: c?.email, first_name: c?.first_name, last_name: c?.last_name, phone: c?.phone ?? c?.billing_address?.phone });
}

function present<T extends object>(of: T): Partial<T> {
  return Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined && value !== null && value !== "")) as Partial<T>;
}
