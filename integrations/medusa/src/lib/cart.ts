import type { MedusaContainer } from "@medusajs/framework/types";
import { ContainerRegistrationKeys, MathBN } from "@medusajs/framework/utils";
import type { CartFacts } from "./checkout.js";

interface Address {
  first_name?: string | null;
  last_name?: string | null;
  phone?: string | null;
}

interface Item {
  title: string;
  variant_sku?: string | null;
  quantity: unknown;
  unit_price: unknown;
}

/** Reads what the checkout needs of the cart of a payment collection; null if it has none, such as for a change of an order. */
export async function cartOf(container: MedusaContainer, collectionId: string): Promise<CartFacts | null> {
  const query = container.resolve(ContainerRegistrationKeys.QUERY);
  const { data: links } = await query.graph({ entity: "cart_payment_collection", fields: ["cart_id"], filters: { payment_collection_id: collectionId } });
  const id = (links[0] as { cart_id?: string } | undefined)?.cart_id;
  if (!id) return null;
  const { data: carts } = await query.graph({
    entity: "cart",
    fields: ["id", "email", "shipping_address.*", "billing_address.*", "items.title", "items.variant_sku", "items.quantity", "items.unit_price"],
    filters: { id },
  });
  const cart = carts[0];
  if (!cart) return null;
  const of = (field: keyof Address): string | null => (cart.billing_address as Address | null)?.[field] || (cart.shipping_address as Address | null)?.[field] || null;
  return {
    id,
    email: cart.email ?? null,
    first_name: of("first_name"),
    last_name: of("last_name"),
    phone: of("phone"),
    items: ((cart.items ?? []) as (Item | null)[]).flatMap((item) =>
      item ? [{ title: item.title || "-", quantity: digits(item.quantity), unit_price: digits(item.unit_price), sku: item.variant_sku ?? null }] : [],
    ),
  };
}

function digits(n: unknown): string {
  return MathBN.convert(n as number).toFixed();
}

/** A payment session as routes need it. */
export interface Session {
  id: string;
  provider_id: string;
  data?: Record<string, unknown>;
}

/** The payment sessions of a cart, or of a payment collection. */
export async function sessionsOf(container: MedusaContainer, of: { cart_id: string | undefined } | { payment_collection_id: string | undefined }): Promise<Session[]> {
  if (Object.values(of)[0] === undefined) return []; // a filter without a value selects every row
  const query = container.resolve(ContainerRegistrationKeys.QUERY);
  let collection = "payment_collection_id" in of ? of.payment_collection_id : undefined;
  if ("cart_id" in of) {
    const { data } = await query.graph({ entity: "cart_payment_collection", fields: ["payment_collection_id"], filters: { cart_id: of.cart_id } });
    collection = (data[0] as { payment_collection_id?: string } | undefined)?.payment_collection_id;
  }
  if (!collection) return [];
  const { data } = await query.graph({ entity: "payment_session", fields: ["id", "provider_id", "data"], filters: { payment_collection_id: collection } });
  return data as unknown as Session[];
}
