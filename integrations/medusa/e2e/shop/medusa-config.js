// The shop of the test. Addresses and secrets come from the program that starts it.
const { defineConfig } = require("@medusajs/framework/utils");

const env = process.env;
const provider = (id, options) => ({ resolve: "@cascadapay/medusa/providers/cascada", id, options: { url: env.CASCADA_URL, returnUrl: `${env.STOREFRONT}/back`, reconcileAfter: 2, timeout: 5000, ...options } });

module.exports = defineConfig({
  projectConfig: {
    databaseUrl: env.DATABASE_URL,
    databaseDriverOptions: { connection: { ssl: false } },
    http: { storeCors: env.STOREFRONT, adminCors: env.STOREFRONT, authCors: env.STOREFRONT, jwtSecret: "test", cookieSecret: "test" },
  },
  admin: { disable: true },
  plugins: ["@cascadapay/medusa"],
  modules: [
    {
      resolve: "@medusajs/medusa/payment",
      options: {
        webhook_delay: 300, // milliseconds; 5000 unless set
        providers: [
          provider("cascada", { secretKey: env.CASCADA_SECRET, webhookSecret: env.CASCADA_WEBHOOK }),
          provider("later", { secretKey: env.LATER_SECRET, webhookSecret: env.LATER_WEBHOOK, pendingOrders: true }),
        ],
      },
    },
  ],
});
