import { decimal, type Decimal } from "@cascadapay/sdk";

/** How many decimals a currency has by ISO 4217: 2 for USD, 0 for CLP. */
export function decimals(currency: string): number {
  return new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2;
}

/** Rounds half up to the decimals of the currency. amount is digits, not a number in scientific notation. */
export function rounded(amount: Decimal, currency: string): Decimal {
  return cut(decimal.sum(amount, half(decimals(currency))), decimals(currency));
}

/**
 * The part of a payment in the currency in which the shopper paid: amount / whole of paid, rounded down. Every part rounded down
 * makes up at most the whole.
 */
export function share(amount: Decimal, whole: Decimal, paid: Decimal, currency: string): Decimal {
  const places = decimals(currency);
  const [product, divisor] = [digits(decimal.multiply(amount, paid), 60), digits(whole, 60)];
  const scaled = (product * 10n ** BigInt(places)) / divisor;
  const text = scaled.toString().padStart(places + 1, "0");
  return places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`;
}

/** d without its decimals behind the given one. d is not negative. */
function cut(d: Decimal, places: number): Decimal {
  const [whole = "0", fraction = ""] = d.split(".");
  return places === 0 ? whole : `${whole}.${fraction.padEnd(places, "0").slice(0, places)}`;
}

function half(places: number): Decimal {
  return `0.${"0".repeat(places)}5`;
}

/** d times a power of ten as an integer. */
function digits(d: Decimal, places: number): bigint {
  const [whole = "0", fraction = ""] = d.split(".");
  return BigInt(whole + fraction.padEnd(places, "0").slice(0, places));
}
