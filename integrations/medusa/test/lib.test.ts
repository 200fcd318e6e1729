import assert from "node:assert/strict";
import { test } from "node:test";
import type { Claim, Payment } from "@cascadapay/sdk";
import { decimals, rounded, share } from "../src/lib/amounts.js";
import { checkoutOf, customerOf } from "../src/lib/checkout.js";
import type { SessionData } from "../src/lib/data.js";
import { readData } from "../src/lib/data.js";
import { found, remember } from "../src/lib/found.js";
import { checkOptions, returnTo, type Options } from "../src/lib/options.js";
import { localAmount, madeByUs, reasonOf } from "../src/lib/refunds.js";

const options: Options = { url: "https://pay.example", secretKey: "sk_test_1", webhookSecret: "whsec_1", returnUrl: "https://shop.example/back" };
const data = { session_id: "payses_1", checkout_url: "https://pay.example/checkout/cs_1", amount: "25.00", currency: "USD", checkouts: 1, refunds: [] } as unknown as SessionData;

let minute = 0;
function payment(of: Partial<Payment>): Payment {
  const created = new Date(Date.UTC(2026, 0, 1, 0, minute++)).toISOString();
  return {
    id: `TXN-${minute}`, status: "pending", amount: "25", currency: "USD", amountLocal: "25", currencyLocal: "USD", paymentMethod: "card", failure: null,
    refundedAmountLocal: "0", refundableAmountLocal: "25", timestamps: { created, updated: created }, ...of,
  } as Payment;
}

test("amounts are rounded half up to the currency's decimals, and exact", () => {
  assert.deepEqual([decimals("USD"), decimals("CLP"), decimals("KWD")], [2, 0, 3]);
  for (const [amount, currency, want] of [
    ["25", "USD", "25.00"], ["10.335", "USD", "10.34"], ["10.334999", "USD", "10.33"], ["0.1", "USD", "0.10"], ["0.30000000000000004", "USD", "0.30"],
    ["9007199254740993.01", "USD", "9007199254740993.01"], ["1999.5", "CLP", "2000"], ["999.995", "USD", "1000.00"], ["1.0005", "KWD", "1.001"],
  ] as const) assert.equal(rounded(amount, currency), want, `${amount} ${currency}`);
});

test("a part of a payment in another currency is rounded down, so that all parts fit", () => {
  assert.equal(share("11.11", "33.33", "609.93", "MXN"), "203.31");
  assert.equal(share("33.33", "33.33", "609.93", "MXN"), "609.93");
  assert.equal(share("10", "30", "100", "CLP"), "33");
  assert.equal(share("0.01", "100", "5", "BRL"), "0.00");
});

test("the payment that was paid counts, whatever the shopper tried before or after", () => {
  const paid = payment({ status: "completed" });
  const now = found([payment({ status: "failed", failure: { code: "card_declined", declineCode: null, message: "" } }), paid, payment({})], data);
  assert.deepEqual([now.state, now.payment?.id, now.extra.length], ["paid", paid.id, 0]);
  for (const status of ["refunded", "chargeback"]) assert.equal(found([payment({ status })], data).state, "paid");
});

test("states of what is not paid", () => {
  const failed = (code: string, declineCode: string | null = null) => payment({ status: "failed", failure: { code, declineCode, message: "" } });
  for (const [list, want] of [
    [[], "choosing"],
    [[payment({})], "waiting"],
    [[payment({ status: "processing" })], "unknown"],
    [[payment({ status: "of a later version" })], "unknown"],
    [[failed("card_declined")], "failed"],
    [[payment({ status: "expired" })], "failed"],
    [[failed("outcome_unknown")], "unknown"],
    [[payment({ status: "expired", attention: { code: "late_payment", amountLocal: "25", currencyLocal: "USD", claimId: "CLM-1" } }), payment({})], "unknown"],
    [[failed("canceled")], "canceled"],
    [[failed("canceled", "another_way")], "choosing"],
    [[failed("card_declined"), payment({})], "waiting"],
    [[payment({ status: "processing" }), failed("card_declined")], "unknown"],
  ] as [Payment[], string][]) assert.equal(found(list, data).state, want);
});

test("money of another amount or currency pays nothing, and a second payment is extra", () => {
  assert.equal(found([payment({ status: "completed", amount: "20" })], data).state, "wrong_amount");
  assert.equal(found([payment({ status: "completed", amount: "25", amountRequested: "25", currencyRequested: "EUR" })], data).state, "wrong_amount");
  const mxn = { amount: "500.00", currency: "MXN" };
  assert.equal(found([payment({ status: "completed", amount: "27.32", amountRequested: "500", currencyRequested: "MXN" })], mxn).state, "paid");
  const twice = found([payment({ status: "completed" }), payment({ status: "completed" })], data);
  assert.deepEqual([twice.state, twice.extra.length], ["paid", 1]);
});

test("what was given back pays no order, and the shopper may pay again", () => {
  const back = payment({ status: "refunded", refundedAmountLocal: "25", refundableAmountLocal: "0" });
  const now = found([back], data);
  assert.deepEqual([now.state, now.payment?.id, now.extra.length], ["returned", back.id, 0]);
  assert.equal(found([back, payment({})], data).state, "waiting");
  const again = payment({ status: "completed" });
  assert.equal(found([back, again], data).payment?.id, again.id);
});

test("what a storefront sends is not read as the session's", () => {
  assert.equal(readData({ session_id: "payses_1", refunds: [] }), undefined);
  const next = remember({ ...data, transaction_id: "TXN-forged" }, found([], data));
  assert.equal(next.transaction_id, null);
});

test("a shopper comes back to the storefront only", () => {
  assert.equal(returnTo(options, undefined), "https://shop.example/back");
  assert.equal(returnTo(options, "https://shop.example/br/back?cart=1"), "https://shop.example/br/back?cart=1");
  for (const wanted of ["https://evil.example/", "https://shop.example.evil.example/", "javascript:alert(1)", "/back", 5]) assert.equal(returnTo(options, wanted), undefined);
  assert.equal(returnTo({ ...options, returnOrigins: ["https://b.example"] }, "https://b.example/x"), "https://b.example/x");
});

test("options that cannot work are refused when Medusa starts", () => {
  assert.equal(checkOptions(options), options);
  for (const [change, name] of [
    [{ url: "pay.example" }, "url"], [{ secretKey: "" }, "secretKey"], [{ secretKey: "pk_test_1" }, "secretKey"], [{ webhookSecret: undefined }, "webhookSecret"],
    [{ webhookSecret: [] }, "webhookSecret"], [{ returnUrl: "/back" }, "returnUrl"], [{ returnOrigins: ["https://b.example/path"] }, "returnOrigins"],
  ] as [Partial<Options>, string][]) assert.throws(() => checkOptions({ ...options, ...change }), new RegExp(name));
});

test("a checkout has the session as its order, and names what is missing of the customer", () => {
  const facts = { id: "cart_1", email: "ana@example.com", first_name: "Ana", last_name: "Souza", phone: "+55119", items: [{ title: "Shirt", quantity: "2", unit_price: "12.5", sku: null }] };
  const { customer, missing } = customerOf(facts);
  assert.deepEqual(missing, []);
  const request = checkoutOf({ sessionId: "payses_1", amount: "25.00", currency: "USD", returnUrl: options.returnUrl, customer, facts });
  assert.deepEqual([request.merchantOrderId, request.metadata, request.lineItems], ["payses_1", { medusaSession: "payses_1", medusaCart: "cart_1" }, [{ name: "Shirt", quantity: "2", unitAmount: "12.5" }]]);
  assert.deepEqual(customerOf({ email: "a@b.example" }).missing, ["firstName", "lastName", "phone"]);
});

test("refunds of this plugin are found by their reason", () => {
  const claim = (of: Partial<Claim>) => ({ id: "CLM-1", type: "user_dispute", outcome: null, amount: "6", reason: reasonOf("ref_1", "6.00", "USD"), ...of }) as Claim;
  assert.deepEqual(madeByUs([claim({})]).map((m) => [m.id, m.amount]), [["ref_1", "6.00"]]);
  for (const other of [claim({ outcome: "rejected" }), claim({ type: "chargeback" }), claim({ reason: "other" }), claim({ reason: null })]) assert.deepEqual(madeByUs([other]), []);
});

test("a refund has the cart's amount, or the same part of what was paid in another currency", () => {
  assert.equal(localAmount(payment({}), data, "5.00"), "5.00");
  const abroad = payment({ amountLocal: "609.93", currencyLocal: "MXN", refundedAmountLocal: "0", refundableAmountLocal: "609.93" });
  const odd = { ...data, amount: "33.33" };
  assert.equal(localAmount(abroad, odd, "11.11"), "203.31");
  const most = { ...odd, refunds: [{ id: "ref_1", claimId: "CLM-1", amount: "22.22", amountLocal: "406.60" }] };
  const left = { ...abroad, refundedAmountLocal: "406.60", refundableAmountLocal: "203.33" };
  assert.equal(localAmount(left, most, "11.11"), "203.33");
  // Somebody refunded outside of Medusa too: only the part is asked for, not all that is left.
  assert.equal(localAmount({ ...left, refundedAmountLocal: "500", refundableAmountLocal: "109.93" }, most, "11.11"), "203.31");
});
