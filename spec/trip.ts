// What each generated client does: it makes a payment, refunds a part of it, and
// reads the payment. A 32-bit number cannot hold the amounts.

/** Shop is what a generated client can do, whatever its functions look like. */
export interface Shop {
  pay(amount: number): Promise<{ id: string; amountLocal: number }>;
  refund(id: string, amount: number): Promise<number>;
  read(id: string): Promise<{ amount: number; refundable: number }>;
}

const env = process.env;
export const root = env["SERVICE"] ?? "";
export const token = env["TOKEN"] ?? "";

/** want returns a value, which must be there. */
export function want<T>(value: T | undefined, problem: unknown): T {
  if (value === undefined) throw new Error(JSON.stringify(problem));
  return value;
}

function same(what: string, got: number, wanted: number): void {
  if (got !== wanted) throw new Error(`${what} is ${got}, want ${wanted}`);
}

/** trip fails if an amount is not exact. */
export async function trip(shop: Shop): Promise<void> {
  const usd = 45033.37, part = 131072.01;
  const made = await shop.pay(usd);
  same("the refund", await shop.refund(made.id, part), part);
  const now = await shop.read(made.id);
  same("the payment", now.amount, usd);
  same("what remains", now.refundable, (Math.round(made.amountLocal * 100) - Math.round(part * 100)) / 100);
}
