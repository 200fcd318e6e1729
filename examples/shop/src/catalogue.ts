// What the shop sells, and where. Prices are here and nowhere else: nothing that a browser sends is ever a price.
import { decimal, type Decimal } from "@cascadapay/sdk";
import type { Currency } from "./money.js";

/** A country decides the currency, and with it which methods the checkout offers. */
export const regions = {
  BR: { name: "Brasil", currency: "BRL" },
  MX: { name: "México", currency: "MXN" },
  CO: { name: "Colombia", currency: "COP" },
  US: { name: "United States", currency: "USD" },
} as const satisfies Record<string, { name: string; currency: Currency }>;

export type Country = keyof typeof regions;

/** The two smallest are for the test card, which answers by the cents of the total. */
export const products = {
  coffee: { prices: { BRL: "64.90", MXN: "289.00", COP: "59900", USD: "16.00" } },
  mug: { prices: { BRL: "89.00", MXN: "249.50", COP: "48500", USD: "14.00" } },
  bag: { prices: { BRL: "119.90", MXN: "379.00", COP: "82000", USD: "22.00" } },
  sticker: { prices: { BRL: "7.90", MXN: "25.00", COP: "5900", USD: "1.51" } },
  pin: { prices: { BRL: "12.90", MXN: "45.00", COP: "9900", USD: "2.65" } },
} as const satisfies Record<string, { prices: Record<Currency, Decimal> }>;

export type Sku = keyof typeof products;

export interface Line {
  sku: Sku;
  quantity: number;
  unitAmount: Decimal;
}

export const isSku = (text: string): text is Sku => Object.hasOwn(products, text);
export const isCountry = (text: string): text is Country => Object.hasOwn(regions, text);
export const maxQuantity = 20;

/** The lines of a cart at today's prices, and their sum. */
export function price(items: ReadonlyMap<Sku, number>, country: Country): { lines: Line[]; amount: Decimal; currency: Currency } {
  const { currency } = regions[country];
  const lines = [...items].map(([sku, quantity]) => ({ sku, quantity, unitAmount: products[sku].prices[currency] }));
  return { lines, currency, amount: decimal.sum(...lines.map((line) => decimal.multiply(line.unitAmount, String(line.quantity)))) };
}
