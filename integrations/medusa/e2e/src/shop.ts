import { admin, until, type World } from "./world.js";

type Json = Record<string, any>;

/** Medusa's answer that was not a success. */
export class Refused extends Error {
  constructor(readonly status: number, readonly body: Json) {
    super(`${status} ${JSON.stringify(body)}`);
  }
}

/** A shop in Medusa: what its storefront and its staff do over Medusa's own API. */
export class Shop {
  private token = "";
  private publishable = "";
  private regions: Record<string, string> = {};
  private variants: Record<string, string> = {};
  private option = "";
  private count = 0;

  constructor(private readonly world: World) {}

  async call(method: string, path: string, body?: unknown): Promise<Json> {
    const headers: Record<string, string> = { "Content-Type": "application/json", "x-publishable-api-key": this.publishable };
    if (path.startsWith("/admin")) headers["Authorization"] = `Bearer ${this.token}`;
    const response = await fetch(this.world.medusa + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const text = await response.text();
    const answer = (text.startsWith("{") ? JSON.parse(text) : { text }) as Json;
    if (!response.ok) throw new Refused(response.status, answer);
    return answer;
  }

  /** Makes regions, a way of shipping that costs nothing, and products, as staff do it. */
  async seed(): Promise<void> {
    this.token = (await this.call("POST", "/auth/user/emailpass", admin))["token"];
    const channel = (await this.call("POST", "/admin/sales-channels", { name: "Web" }))["sales_channel"].id;
    const key = (await this.call("POST", "/admin/api-keys", { title: "Storefront", type: "publishable" }))["api_key"];
    await this.call("POST", `/admin/api-keys/${key.id}/sales-channels`, { add: [channel] });
    this.publishable = key.token;
    const store = (await this.call("GET", "/admin/stores"))["stores"][0].id;
    const currencies = ["usd", "brl", "mxn"];
    await this.call("POST", `/admin/stores/${store}`, { supported_currencies: currencies.map((c, i) => ({ currency_code: c, is_default: i === 0 })), default_sales_channel_id: channel });
    const location = (await this.call("POST", "/admin/stock-locations", { name: "Store" }))["stock_location"].id;
    await this.call("POST", `/admin/stock-locations/${location}/sales-channels`, { add: [channel] });
    await this.call("POST", `/admin/stock-locations/${location}/fulfillment-providers`, { add: ["manual_manual"] });
    const sets = (await this.call("POST", `/admin/stock-locations/${location}/fulfillment-sets?fields=*fulfillment_sets`, { name: "Shipping", type: "shipping" }))["stock_location"].fulfillment_sets;
    const countries: Json = { usd: "us", brl: "br", mxn: "mx" };
    const zone = (
      await this.call("POST", `/admin/fulfillment-sets/${sets[0].id}/service-zones?fields=*service_zones`, { name: "All", geo_zones: Object.values(countries).map((c) => ({ type: "country", country_code: c })) })
    )["fulfillment_set"].service_zones[0].id;
    const profile = (await this.call("POST", "/admin/shipping-profiles", { name: "Parcels", type: "parcels" }))["shipping_profile"].id;
    this.option = (
      await this.call("POST", "/admin/shipping-options", {
        name: "Free", service_zone_id: zone, shipping_profile_id: profile, provider_id: "manual_manual", price_type: "flat",
        type: { label: "Free", description: "Free", code: "free" }, prices: currencies.map((c) => ({ currency_code: c, amount: 0 })), rules: [],
      })
    )["shipping_option"].id;
    for (const c of currencies) {
      const made = await this.call("POST", "/admin/regions", { name: c, currency_code: c, countries: [countries[c]], payment_providers: ["pp_cascada_cascada", "pp_cascada_later"] });
      this.regions[c] = made["region"].id;
    }
    for (const [sku, amount, stock] of [["shirt", 25, undefined], ["refused", 10.05, undefined], ["last", 40, 1], ["odd", 33.33, undefined]] as const) {
      const made = await this.call("POST", "/admin/products?fields=*variants,*variants.inventory_items", {
        title: sku, status: "published", shipping_profile_id: profile, sales_channels: [{ id: channel }], options: [{ title: "Size", values: ["One"] }],
        variants: [{ title: "One", sku, manage_inventory: stock !== undefined, options: { Size: "One" }, prices: currencies.map((c) => ({ currency_code: c, amount: c === "usd" ? amount : amount * 4 })) }],
      });
      const variant = made["product"].variants[0];
      this.variants[sku] = variant.id;
      if (stock !== undefined) await this.call("POST", `/admin/inventory-items/${variant.inventory_items[0].inventory_item_id}/location-levels`, { location_id: location, stocked_quantity: stock });
    }
  }

  /** Fills a cart up to the choice of a payment. Its e-mail is unique: the order of the cart is found by it. */
  async cart(of: { currency?: string; sku?: string; quantity?: number; email?: boolean } = {}): Promise<Cart> {
    const currency = of.currency ?? "usd";
    const email = `shopper${++this.count}@example.com`;
    const country = { usd: "us", brl: "br", mxn: "mx" }[currency];
    const address = { first_name: "Ana", last_name: "Souza", address_1: "Main Street 1", city: "City", country_code: country, postal_code: "10000", phone: "+5511912345678" };
    const made = await this.call("POST", "/store/carts", { region_id: this.regions[currency] });
    const id: string = made["cart"].id;
    await this.call("POST", `/store/carts/${id}/line-items`, { variant_id: this.variants[of.sku ?? "shirt"], quantity: of.quantity ?? 1 });
    if (of.email !== false) await this.call("POST", `/store/carts/${id}`, { email, shipping_address: address, billing_address: address });
    await this.call("POST", `/store/carts/${id}/shipping-methods`, { option_id: this.option });
    return new Cart(this, this.world, id, email);
  }

  /** One more shirt in a cart. */
  async add(cart: Cart): Promise<void> {
    await this.call("POST", `/store/carts/${cart.id}/line-items`, { variant_id: this.variants["shirt"], quantity: 1 });
  }

  /** Takes everything out of a cart. */
  async clear(cart: Cart): Promise<void> {
    const items = (await this.call("GET", `/store/carts/${cart.id}?fields=id,*items`))["cart"].items as Json[];
    for (const item of items) await this.call("DELETE", `/store/carts/${cart.id}/line-items/${item["id"]}`);
  }

  async refund(paymentId: string, amount: number): Promise<Json> {
    return (await this.call("POST", `/admin/payments/${paymentId}/refund`, { amount }))["payment"];
  }

  async order(id: string): Promise<Order> {
    const fields = "id,status,payment_status,total,*transactions,*payment_collections.payments,*payment_collections.payments.captures,*payment_collections.payments.refunds";
    const order = (await this.call("GET", `/admin/orders/${id}?fields=${fields}`))["order"] as Json;
    const payments = (order["payment_collections"] as Json[]).flatMap((c) => c["payments"] ?? []) as Json[];
    const transactions = (order["transactions"] ?? []) as Json[];
    return {
      id, status: order["status"], payment_status: order["payment_status"], total: order["total"],
      paid: transactions.filter((t) => t["reference"] === "capture").reduce((total, t) => total + Number(t["amount"]), 0),
      captures: payments.flatMap((p) => p["captures"] ?? []).length, refunds: payments.flatMap((p) => (p["refunds"] ?? []) as Json[]).map((r) => Number(r["amount"])),
      paymentId: payments[0]?.["id"] ?? "", data: payments[0]?.["data"] ?? {},
    };
  }

  async notifications(): Promise<string[]> {
    const list = (await this.call("GET", "/admin/notifications?limit=100"))["notifications"] as Json[];
    return list.map((n) => `${n["data"].title}: ${n["data"].description}`);
  }

  /** The notification of the merchant that has these words. */
  async told(...words: string[]): Promise<string> {
    return until(`a notification with ${words.join(", ")}`, async () => (await this.notifications()).find((n) => words.every((w) => n.includes(w))));
  }
}

/** What an order says of its payment. */
export interface Order {
  id: string;
  status: string;
  payment_status: string;
  total: number;
  paid: number;
  captures: number;
  refunds: number[];
  paymentId: string;
  data: Json;
}

export class Cart {
  collection = "";

  constructor(private readonly shop: Shop, private readonly world: World, readonly id: string, readonly email: string) {}

  /** Makes a payment session, as the storefront does when the shopper presses "pay". */
  async pay(provider = "pp_cascada_cascada", data: Json = {}): Promise<Json> {
    this.collection ||= (await this.shop.call("POST", "/store/payment-collections", { cart_id: this.id }))["payment_collection"].id;
    const made = await this.shop.call("POST", `/store/payment-collections/${this.collection}/payment-sessions`, { provider_id: provider, data: { return_url: `${this.world.storefront}/back?cart=${this.id}`, ...data } });
    return (made["payment_collection"].payment_sessions as Json[]).at(-1)!;
  }

  /** Completes the cart, as the storefront does when the shopper is back: the order, or the session's status if there is none. */
  async complete(): Promise<{ order?: string; status?: string }> {
    try {
      const answer = await this.shop.call("POST", `/store/carts/${this.id}/complete`);
      if (answer["type"] === "order") return { order: answer["order"].id };
    } catch (e) {
      if (!(e instanceof Refused) || e.status !== 400) throw e;
    }
    return { status: (await this.sessions())[0]?.["status"] };
  }

  /** The sessions that Medusa has of this cart. */
  async sessions(): Promise<Json[]> {
    const cart = await this.shop.call("GET", `/store/carts/${this.id}?fields=id,completed_at,*payment_collection.payment_sessions`);
    return cart["cart"].payment_collection?.payment_sessions ?? [];
  }

  /** The order of the cart, undefined if there is none. */
  async order(): Promise<Order | undefined> {
    const list = (await this.shop.call("GET", "/admin/orders?limit=5&order=-created_at&fields=id,email"))["orders"] as Json[];
    const mine = list.filter((o) => o["email"] === this.email);
    if (mine.length > 1) throw new Error(`cart ${this.id} has ${mine.length} orders`);
    return mine[0] && this.shop.order(mine[0]["id"]);
  }

  /** Waits until the cart is an order in this state of payment. */
  async paidOrder(status = "captured"): Promise<Order> {
    return until(`an order of cart ${this.id} that is ${status}`, async () => {
      const order = await this.order();
      return order?.payment_status === status && order.paid > 0 ? order : undefined;
    });
  }
}
