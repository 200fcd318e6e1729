/** The options of one provider in medusa-config. */
export interface Options {
  /** The service's address, such as https://pay.example.com. */
  url: string;
  /** A secret key of the shop, or a restricted one with the rights read, payments and refunds. It stays on the server. */
  secretKey: string;
  /** The secret of the webhook's subscription, whsec_…; both while it is rotated. */
  webhookSecret: string | string[];
  /** The storefront's page to which shoppers come back. The service adds transactionId and status to its query. */
  returnUrl: string;
  /** Origins of further storefronts: data.return_url of a payment session may name a page there. That of returnUrl always may. */
  returnOrigins?: string[];
  /** A cart whose voucher or bank payment waits becomes an order at once, with an unpaid payment. Otherwise the order is made when it is paid. */
  pendingOrders?: boolean;
  /** The most milliseconds of one try of a call, 20,000 unless set. */
  timeout?: number;
  /** How old an event must be before the job acts on it, in seconds, 60 unless set: webhooks come first. */
  reconcileAfter?: number;
}

/** Throws an Error that names the option which is missing or wrong. */
export function checkOptions(options: Partial<Options> | undefined): Options {
  const { url, secretKey, webhookSecret, returnUrl } = options ?? {};
  for (const [name, value] of Object.entries({ url, returnUrl })) {
    if (typeof value !== "string" || !/^https?:$/.test(protocolOf(value))) throw new Error(`cascada: the option ${name} must be an http or https address`);
  }
  if (typeof secretKey !== "string" || secretKey === "") throw new Error("cascada: the option secretKey is missing");
  if (secretKey.startsWith("pk_")) throw new Error("cascada: the option secretKey is a publishable key");
  const secrets = [webhookSecret ?? []].flat();
  if (secrets.length === 0 || !secrets.every((s) => typeof s === "string" && s.startsWith("whsec_"))) {
    throw new Error("cascada: the option webhookSecret must be the secret of the webhook's subscription, whsec_…");
  }
  for (const origin of options?.returnOrigins ?? []) {
    if (protocolOf(origin) === "" || new URL(origin).origin !== origin) throw new Error(`cascada: returnOrigins has ${JSON.stringify(origin)}, which is not an origin such as https://shop.example`);
  }
  return options as Options;
}

function protocolOf(address: string): string {
  return URL.canParse(address) ? new URL(address).protocol : "";
}

/**
 * The page to which the shopper comes back: the one that the storefront wants, if it is on an origin of the options, else that of
 * the options. So a session that a stranger makes cannot lead a shopper to another site. undefined for a page that is not allowed.
 */
export function returnTo(options: Options, wanted: unknown): string | undefined {
  if (wanted === undefined || wanted === null || wanted === "") return options.returnUrl;
  if (typeof wanted !== "string" || !URL.canParse(wanted)) return undefined;
  const allowed = [new URL(options.returnUrl).origin, ...(options.returnOrigins ?? [])];
  return allowed.includes(new URL(wanted).origin) ? wanted : undefined;
}
