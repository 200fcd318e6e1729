/**
 * An exact decimal number as its digits, such as "25.50". In JSON it is a number. Never use a `number` for money: 0.1 + 0.2 is
 * not 0.3 there.
 */
export type Decimal = string;

const form = /^(-?)(\d{1,60})(?:\.(\d{1,60}))?$/;

/** parts returns the digits as one integer, and how many of them are behind the point. */
function parts(d: Decimal): [bigint, number] {
  const match = form.exec(d);
  if (!match) throw new RangeError(`${JSON.stringify(d)} is not a decimal number`);
  const [, sign, whole, fraction = ""] = match;
  return [BigInt(`${sign}${whole}${fraction}`), fraction.length];
}

function scaled(d: Decimal, places: number): bigint {
  const [digits, has] = parts(d);
  return digits * 10n ** BigInt(places - has);
}

function print(digits: bigint, places: number): Decimal {
  const text = (digits < 0n ? -digits : digits).toString().padStart(places + 1, "0");
  const fraction = text.slice(text.length - places).replace(/0+$/, "");
  const whole = text.slice(0, text.length - places);
  return (digits < 0n ? "-" : "") + (places > 0 && fraction !== "" ? `${whole}.${fraction}` : whole);
}

/** decimal is exact arithmetic. Results have no zeros at the end: compare them with `compare` or `equal`, not with `===`. */
export const decimal = {
  /** The sum of any number of decimals; "0" of none. */
  sum(...terms: Decimal[]): Decimal {
    const places = Math.max(0, ...terms.map((d) => parts(d)[1]));
    return print(terms.reduce((total, d) => total + scaled(d, places), 0n), places);
  },
  /** a - b. */
  subtract(a: Decimal, b: Decimal): Decimal {
    const places = Math.max(parts(a)[1], parts(b)[1]);
    return print(scaled(a, places) - scaled(b, places), places);
  },
  /** a * b. */
  multiply(a: Decimal, b: Decimal): Decimal {
    const [x, m] = parts(a);
    const [y, n] = parts(b);
    return print(x * y, m + n);
  },
  /** -1, 0 or 1: a is less than b, equal, or more. */
  compare(a: Decimal, b: Decimal): -1 | 0 | 1 {
    const places = Math.max(parts(a)[1], parts(b)[1]);
    const difference = scaled(a, places) - scaled(b, places);
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  },
  equal(a: Decimal, b: Decimal): boolean {
    return decimal.compare(a, b) === 0;
  },
};
