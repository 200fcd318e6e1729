// The cart is in a cookie: what, and how many. There are no prices in it.
import { randomBytes } from "node:crypto";
import { isCountry, isSku, maxQuantity, type Country, type Sku } from "./catalogue.js";
import { isLanguage, type Language } from "./texts.js";
import type { Call } from "./web.js";

export interface Cart {
  /** A cart buys once: its order is found by this id. */
  id: string;
  country: Country;
  items: Map<Sku, number>;
}

export const newCart = (country: Country): Cart => ({ id: randomBytes(16).toString("hex"), country, items: new Map() });

/** The cookie is the browser's, so anything may be in it. */
export function readCart(call: Call): Cart {
  const [id = "", country = "", ...items] = (call.cookies.get("cart") ?? "").split(".");
  if (!/^[0-9a-f]{32}$/.test(id) || !isCountry(country)) {
    const [, home = ""] = /-([A-Z]{2})\b/.exec(call.request.headers["accept-language"] ?? "") ?? []; // pt-BR, es-MX
    return newCart(isCountry(home) ? home : "BR");
  }
  const cart: Cart = { id, country, items: new Map() };
  for (const item of items) {
    const [sku = "", quantity = ""] = item.split("*");
    put(cart, sku, Number(quantity));
  }
  return cart;
}

export function put(cart: Cart, sku: string, quantity: number): void {
  if (!isSku(sku) || !Number.isInteger(quantity)) return;
  if (quantity > 0) cart.items.set(sku, Math.min(quantity, maxQuantity));
  else cart.items.delete(sku);
}

export function keepCart(call: Call, cart: Cart): void {
  call.setCookie("cart", [cart.id, cart.country, ...[...cart.items].map(([sku, quantity]) => `${sku}*${quantity}`)].join("."));
}

export function readLanguage(call: Call): Language {
  const chosen = call.cookies.get("lang") ?? "";
  if (isLanguage(chosen)) return chosen;
  const wished = (call.request.headers["accept-language"] ?? "").split(",").map((part) => part.trim().slice(0, 2).toLowerCase());
  return wished.find(isLanguage) ?? "en";
}
