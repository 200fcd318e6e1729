// Money is a Decimal, the digits of a number as a string, from the catalogue to the API. A float would lose cents.
import { decimal, type Decimal } from "@cascadapay/sdk";

/** How many digits an amount may have behind the point, by currency (ISO 4217). It is 0 for CLP and PYG. */
const minorUnits = { BRL: 2, COP: 2, MXN: 2, USD: 2 } as const;

export type Currency = keyof typeof minorUnits;

/** Reads an amount that a person typed. What has too many decimals is no amount: rounding would be a guess. */
export function readAmount(text: string, currency: Currency): Decimal | undefined {
  const [, whole = "", fraction = ""] = /^(\d{1,12})(?:[.,](\d+))?$/.exec(text.trim()) ?? [];
  if (whole === "" || fraction.length > minorUnits[currency]) return undefined;
  const amount = fraction === "" ? whole : `${whole}.${fraction}`;
  return decimal.compare(amount, "0") > 0 ? amount : undefined;
}

/** Writes an amount for people. Intl is exact with strings. */
export function showAmount(amount: Decimal, currency: string, locale: string): string {
  return new Intl.NumberFormat(locale, { style: "currency", currency }).format(amount as `${number}`);
}
