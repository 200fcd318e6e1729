// The settings, from the environment. Keys and secrets are never in the code, and never reach a page.

function needed(name: string): string {
  const value = process.env[name];
  if (value) return value;
  console.error(`shop: set ${name} (README.md lists the settings)`);
  process.exit(1);
}

/** An origin, such as https://shop.example. */
function origin(name: string): string {
  return new URL(needed(name)).origin;
}

export const config = {
  cascada: {
    url: origin("CASCADA_URL"),
    /** In production a restricted key with the rights read, payments and refunds is enough. */
    secretKey: needed("CASCADA_SECRET_KEY"),
    /** Pages may see this one. */
    publishableKey: needed("CASCADA_PUBLISHABLE_KEY"),
  },
  /** Where shoppers find this shop. It is never read from a request: the Host header is whatever its sender likes. */
  url: origin("SHOP_URL"),
  host: process.env["HOST"] ?? "127.0.0.1",
  port: Number(process.env["PORT"] ?? 3000),
  data: process.env["DATA_FILE"] ?? "orders.jsonl",
};

/** Only the server needs these: setup.ts makes the first one. */
export const secrets = () => ({
  /** The webhook's secret. Two, with a comma between, while it is being rotated. */
  webhook: needed("CASCADA_WEBHOOK_SECRET").split(","),
  adminPassword: needed("ADMIN_PASSWORD"),
});
