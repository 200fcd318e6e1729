// The shop: which address does what, from the start to the end of the process.
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as admin from "./admin.js";
import { keepCart, newCart, put, readCart, readLanguage } from "./carts.js";
import { isCountry, maxQuantity, price } from "./catalogue.js";
import { config, secrets } from "./config.js";
import { modes, paidBy, type Customer, type Order } from "./orders.js";
import * as pages from "./pages.js";
import { Payments, report, StillOpen } from "./payments.js";
import { Store } from "./store.js";
import { isLanguage } from "./texts.js";
import { redirect, Refused, serve, type Call, type Reply, type Route } from "./web.js";
import { receive } from "./webhook.js";

const store = new Store(config.data);
const payments = new Payments(store);
const secret = secrets();

/** What a shopper sees. A cart that was paid is over: its order has it. */
function viewOf(call: Call): pages.View {
  let cart = readCart(call);
  const order = store.ofCart(cart.id);
  if (order && paidBy(order).length > 0) cart = newCart(cart.country);
  return { language: readLanguage(call), cart };
}

function orderOf(call: Call): Order {
  const order = store.get(call.params[0] ?? "");
  if (!order) throw new Refused(404);
  return order;
}

const nobody: Customer = { firstName: "", lastName: "", email: "", phone: "" };

/** What is wrong with a customer is also said by the service. This is said at the field, in the shopper's language. */
const checks: Record<keyof Customer, RegExp> = { firstName: /\S/, lastName: /\S/, email: /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/, phone: /^\+\d{8,15}$/ };

async function buy(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const form = await call.form();
  // A page from before, out of the browser's memory: its cart was bought, or is not there any more.
  if (form.get("cart") !== view.cart.id) {
    const before = store.ofCart(form.get("cart") ?? "");
    return redirect(before ? `/orders/${before.id}` : "/cart");
  }
  if (view.cart.items.size === 0) return redirect("/cart");
  const typed = (name: keyof Customer) => (form.get(name) ?? "").trim().slice(0, 120);
  const customer: Customer = { firstName: typed("firstName"), lastName: typed("lastName"), email: typed("email"), phone: typed("phone").replace(/[\s().-]/g, "") };
  const mode = modes.find((mode) => mode === form.get("mode")) ?? "redirect";
  const names = Object.keys(checks) as (keyof Customer)[];
  const filled = { customer, mode, wrong: new Set(names.filter((name) => !checks[name].test(customer[name]))) };
  if (filled.wrong.size > 0) return pages.cart(view, filled, 422);
  const { lines, amount, currency } = price(view.cart.items, view.cart.country); // from the catalogue, never from the form
  // But nobody pays another total than the one that was shown: the cart may have changed in another tab, or a price.
  if (form.get("seen") !== `${currency} ${amount}`) return pages.cart(view, { ...filled, problem: "changed" }, 409);
  try {
    const order = await payments.buy({ cartId: view.cart.id, mode, language: view.language, country: view.cart.country, currency, amount, lines, customer });
    if (order.refusal) return pages.cart(view, { ...filled, problem: order.refusal === "amount_out_of_limits" ? "amount_out_of_limits" : "refused" }, 422);
    return redirect(pages.payAddress(order));
  } catch (e) {
    report(store.ofCart(view.cart.id), e);
    return pages.cart(view, { ...filled, problem: e instanceof StillOpen ? "still_open" : "unreachable" }, 503);
  }
}

/** Server-sent events: one for each change of an order. The page reads itself again then. */
function live(call: Call): undefined {
  const order = orderOf(call);
  const { response } = call;
  const send = () => response.write(`data: ${order.version}\n\n`);
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" });
  response.write("retry: 1000\n\n");
  if (Number(call.query.get("version")) < order.version) send(); // it changed between the page and this
  const stop = store.watch(order.id, send);
  const alive = setInterval(() => response.write(":\n\n"), 20_000); // proxies end silent connections
  response.on("close", () => {
    clearInterval(alive);
    stop();
  });
}

/** The files that pages load: those of public/, our compiled scripts, and the SDK for browsers. They are read once. */
function assets(): Map<string, Reply> {
  const types: Record<string, string> = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8", svg: "image/svg+xml" };
  const files = new Map<string, Reply>();
  const add = (from: URL, to: string) => {
    for (const file of readdirSync(from, { recursive: true, encoding: "utf8" })) {
      const type = types[file.split(".").at(-1) ?? ""];
      if (type) files.set(to + file, { type, body: readFileSync(new URL(file, from)), headers: { "Cache-Control": "no-cache" } });
    }
  };
  add(new URL("../public/", import.meta.url), "");
  add(new URL("browser/", import.meta.url), "");
  add(new URL(".", import.meta.resolve("@cascadapay/sdk")), "sdk/");
  return files;
}

const files = assets();
const staff = (answer: Route["answer"]): Route["answer"] => (call) => {
  admin.onlyStaff(call, secret.adminPassword);
  return answer(call);
};

async function cancel(call: Call, back: string): Promise<Reply> {
  const order = orderOf(call);
  try {
    await payments.cancel(order);
  } catch (e) {
    report(order, e);
    throw new Refused(503);
  }
  return redirect(back + order.id);
}

const routes: Route[] = [
  { method: "GET", path: /^\/$/, answer: (call) => pages.home(viewOf(call)) },
  {
    method: "POST", path: /^\/choice$/, answer: async (call) => {
      const { cart } = viewOf(call);
      const form = await call.form();
      const [country = "", language = ""] = [form.get("country") ?? "", form.get("language") ?? ""];
      if (isCountry(country)) keepCart(call, { ...cart, country });
      if (isLanguage(language)) call.setCookie("lang", language);
      return redirect("/");
    },
  },
  {
    method: "POST", path: /^\/cart\/add$/, answer: async (call) => {
      const { cart } = viewOf(call);
      const sku = (await call.form()).get("sku") ?? "";
      put(cart, sku, Math.min(maxQuantity, ([...cart.items].find(([known]) => known === sku)?.[1] ?? 0) + 1));
      keepCart(call, cart);
      return redirect("/cart");
    },
  },
  { method: "GET", path: /^\/cart$/, answer: (call) => pages.cart(viewOf(call), { customer: nobody, mode: "redirect", wrong: new Set() }) },
  {
    method: "POST", path: /^\/cart$/, answer: async (call) => {
      const { cart } = viewOf(call);
      for (const [sku, quantity] of await call.form()) put(cart, sku, Number(quantity));
      keepCart(call, cart);
      return redirect("/cart");
    },
  },
  { method: "POST", path: /^\/buy$/, answer: buy },
  {
    method: "GET", path: /^\/orders\/([\w-]+)$/, answer: (call) => {
      const order = orderOf(call);
      // returnUrl leads here. transactionId and status in the address prove nothing, anybody can type them: we ask the API.
      if (paidBy(order).length === 0) payments.readSoon(order);
      return pages.order(viewOf(call), order);
    },
  },
  {
    method: "GET", path: /^\/orders\/([\w-]+)\/pay$/, answer: (call) => {
      const order = orderOf(call);
      return order.checkout && pages.payAddress(order) === call.path ? pages.pay(viewOf(call), order, order.checkout) : redirect(`/orders/${order.id}`);
    },
  },
  { method: "GET", path: /^\/orders\/([\w-]+)\/live$/, answer: live },
  { method: "POST", path: /^\/orders\/([\w-]+)\/cancel$/, answer: (call) => cancel(call, "/orders/") },
  {
    method: "POST", path: /^\/webhooks\/cascada$/, open: true,
    answer: async (call) => ({ status: await receive(payments, secret.webhook, call.request.headers, await call.body(4 << 20)) }),
  },
  { method: "GET", path: /^\/admin$/, answer: staff((call) => admin.orders(viewOf(call), store.all().slice(0, 100))) },
  { method: "GET", path: /^\/admin\/orders\/([\w-]+)$/, answer: staff((call) => admin.order(viewOf(call), orderOf(call))) },
  { method: "POST", path: /^\/admin\/orders\/([\w-]+)\/cancel$/, answer: staff((call) => cancel(call, "/admin/orders/")) },
  {
    method: "POST", path: /^\/admin\/orders\/([\w-]+)\/refund$/, answer: staff(async (call) => {
      const order = orderOf(call);
      const wrong = await admin.refund(payments, order, await call.form()).catch((e: unknown) => report(order, e)); // it is stored, and repeated
      return wrong ? admin.order(viewOf(call), order, wrong) : redirect(`/admin/orders/${order.id}`);
    }),
  },
  {
    method: "GET", path: /^\/assets\/([\w./-]+)$/, answer: (call) => {
      const file = files.get(call.params[0] ?? "");
      if (!file) throw new Refused(404);
      return file;
    },
  },
];

/** What happened while the shop was away. It is read until that is done once: the service may be away too. */
let behind = true;
function catchUp(): void {
  payments.catchUp().then(() => (behind = false), (e: unknown) => report(undefined, e));
}

const server = serve(routes, (call, status) => pages.problem(viewOf(call), status));
server.listen(config.port, config.host, () => {
  console.log(`shop: ready at ${config.url}`);
  catchUp();
});
const again = setInterval(() => {
  if (behind) catchUp();
  payments.carryOutAll();
}, 30_000);

/** Ends what runs: no new requests, the calls that have begun to their end, then the file. */
async function end(): Promise<void> {
  clearInterval(again);
  server.close();
  server.closeAllConnections();
  await payments.end();
  store.close();
  process.exit(0);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void end());
