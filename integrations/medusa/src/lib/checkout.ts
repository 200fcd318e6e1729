import type { CheckoutSessionRequest, CustomerInput, LineItemInput } from "@cascadapay/sdk";

/** What the plugin reads of the cart for the checkout. The middleware of the API puts it into the session's data as cascada_cart. */
export interface CartFacts {
  id: string;
  email: string | null;
  first_name: string | null;
  last_name: string | null;
  phone: string | null;
  items: { title: string; quantity: string; unit_price: string; sku: string | null }[];
}

/** The customer as the service wants it; the names of what is missing. */
export function customerOf(facts: Partial<CartFacts> | undefined): { customer: CustomerInput; missing: string[] } {
  const customer = { firstName: facts?.first_name ?? "", lastName: facts?.last_name ?? "", email: facts?.email ?? "", phone: facts?.phone ?? "" };
  const missing = Object.entries(customer).filter(([, value]) => value.trim() === "").map(([name]) => name);
  return { customer, missing };
}

/** The most line items of a session. */
const maxLines = 100;

/** The items of a cart for the shopper's page. Nothing is computed of them. */
export function linesOf(facts: Partial<CartFacts> | undefined): LineItemInput[] {
  return (facts?.items ?? []).slice(0, maxLines).map((item) => ({
    name: item.title.slice(0, 200),
    quantity: item.quantity,
    unitAmount: item.unit_price,
    ...(item.sku ? { sku: item.sku.slice(0, 100) } : {}),
  }));
}

/** The request for a hosted checkout of a payment session. */
export function checkoutOf(of: {
  sessionId: string;
  amount: string;
  currency: string;
  returnUrl: string;
  customer: CustomerInput;
  facts: Partial<CartFacts> | undefined;
}): CheckoutSessionRequest {
  const lineItems = linesOf(of.facts);
  return {
    amount: of.amount,
    currency: of.currency,
    merchantOrderId: of.sessionId,
    returnUrl: of.returnUrl,
    customer: of.customer,
    metadata: { medusaSession: of.sessionId, ...(of.facts?.id ? { medusaCart: of.facts.id } : {}) },
    ...(lineItems.length > 0 ? { lineItems } : {}),
  };
}
