import { execFile, spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { Cascada } from "@cascadapay/sdk";
import { Proxy } from "./proxy.js";

const run = promisify(execFile);

/** What is a merchant of the service for one provider of the shop. */
export interface Merchant {
  api: Cascada;
  /** Medusa's key. */
  key: string;
  webhookId: string;
  webhookSecret: string;
}

export const admin = { email: "admin@example.com", password: "a-password" };

/** PostgreSQL, the service and Medusa, each a process of its own, in a directory that is deleted afterwards. */
export class World {
  readonly dir = fs.mkdtempSync(path.join(os.tmpdir(), "cascada-medusa-"));
  readonly proxy = new Proxy();
  medusa = "";
  storefront = "";
  cascada = "";
  /** What came back to the storefront's page. */
  readonly back: URL[] = [];
  shop!: Merchant;
  later!: Merchant;
  private stopCascada: () => Promise<void> = async () => {};
  private readonly ends: (() => Promise<void> | void)[] = [];

  constructor(private readonly shopDir: string, private readonly binary: string) {}

  async start(): Promise<void> {
    fs.chmodSync(this.dir, 0o755);
    const [database] = await Promise.all([this.startPostgres(), this.startCascada(), this.startStorefront()]);
    await this.proxy.start(this.cascada);
    this.ends.push(() => this.proxy.stop());
    const port = await freePort();
    this.medusa = `http://127.0.0.1:${port}`;
    this.shop = await this.merchant("shop", "cascada_cascada");
    this.later = await this.merchant("later", "cascada_later");
    const env = {
      ...process.env, DATABASE_URL: database, CASCADA_URL: this.proxy.url, STOREFRONT: this.storefront, PORT: String(port), NODE_ENV: "production",
      CASCADA_SECRET: this.shop.key, CASCADA_WEBHOOK: this.shop.webhookSecret, LATER_SECRET: this.later.key, LATER_WEBHOOK: this.later.webhookSecret,
      MEDUSA_DISABLE_TELEMETRY: "true", CASCADA_RECONCILE_SCHEDULE: "*/2 * * * * *",
    };
    const cli = path.join(this.shopDir, "node_modules/@medusajs/cli/cli.js");
    const medusa = async (...args: string[]) => step(args.join(" ").replace(admin.password, "…"), () => run(process.execPath, [cli, ...args], { cwd: this.shopDir, env, maxBuffer: 1 << 26 }));
    await medusa("db:migrate", "--skip-scripts");
    await medusa("user", "-e", admin.email, "-p", admin.password);
    await step("start", async () => {
      await this.serve("medusa", process.execPath, [cli, "start"], { cwd: this.shopDir, env });
      await until("Medusa is ready", async () => (await fetch(`${this.medusa}/health`).catch(() => undefined))?.ok, 300);
    });
  }

  async stop(): Promise<void> {
    for (const end of this.ends.reverse()) await end();
    fs.rmSync(this.dir, { recursive: true, force: true });
  }

  /** What a process has written. */
  log(name: string): string {
    return fs.readFileSync(path.join(this.dir, `${name}.log`), "utf8");
  }

  private async startPostgres(): Promise<string> {
    const versions = fs.readdirSync("/usr/lib/postgresql").sort((a, b) => Number(b) - Number(a));
    const bin = `/usr/lib/postgresql/${versions[0]}/bin`;
    // PostgreSQL refuses to run as root.
    const who: SpawnOptions = process.getuid?.() === 0 ? { uid: await id("-u"), gid: await id("-g") } : {};
    const home = path.join(this.dir, "pg");
    fs.mkdirSync(home);
    if (who.uid !== undefined) fs.chownSync(home, who.uid, who.gid ?? 0);
    await run(`${bin}/initdb`, ["-D", `${home}/data`, "-U", "app", "-A", "trust", "--no-sync", "-E", "UTF8"], { ...who, cwd: home } as object);
    const port = await freePort();
    await this.serve("postgres", `${bin}/postgres`, ["-D", `${home}/data`, "-c", `port=${port}`, "-c", "listen_addresses=127.0.0.1", "-c", `unix_socket_directories=${home}`, "-c", "fsync=off"], { ...who, cwd: home }, "SIGINT");
    const made = () => run(`${bin}/createdb`, ["-h", "127.0.0.1", "-p", String(port), "-U", "app", "medusa"]).then(() => true, () => false);
    await until("PostgreSQL is ready", made, 30);
    return `postgres://app@127.0.0.1:${port}/medusa`;
  }

  private get database(): string {
    return `sqlite:${path.join(this.dir, "cascada.db")}`;
  }

  private async startCascada(...flags: string[]): Promise<void> {
    this.cascada ||= `http://127.0.0.1:${await freePort()}`;
    const args = ["serve", "--no-demo", "--allow-private-webhooks", "--listen", new URL(this.cascada).host, "--database", this.database, ...flags];
    this.stopCascada = await this.serve("cascada", this.binary, args, {});
    await until("the service is ready", async () => (await fetch(`${this.cascada}/docs`).catch(() => undefined))?.ok, 60);
  }

  /** Ends the service and starts it at the same address, such as with providers that misbehave. */
  async restartCascada(...flags: string[]): Promise<void> {
    await this.stopCascada();
    await this.startCascada(...flags);
  }

  /** A page of the storefront, to which shoppers come back. */
  private async startStorefront(): Promise<void> {
    const server = http.createServer((req, res) => {
      const url = new URL(req.url ?? "/", this.storefront);
      if (url.pathname === "/back") this.back.push(url);
      res.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>Back</title><p id=back>Thank you");
    });
    this.storefront = await listen(server);
    this.ends.push(() => {
      server.closeAllConnections();
      server.close();
    });
  }

  private async merchant(name: string, provider: string): Promise<Merchant> {
    const { stdout } = await run(this.binary, ["merchant", "create", "--database", this.database, "--name", name, "--email", `${name}@example.com`, "--tier", "standard", "--refund-fees", "returned", "--json"]);
    const { merchant, shop, keys } = JSON.parse(stdout);
    // Medusa gets a key with the rights that the README names, and no more.
    const made = await run(this.binary, ["key", "create", "--database", this.database, "--merchant", merchant.id, "--shop", shop.id, "--kind", "restricted", "--rights", "read,payments,refunds"]);
    const api = new Cascada({ url: this.cascada, secretKey: keys.sandbox.secret });
    const webhook = await api.createWebhook({ url: `${this.medusa}/hooks/payment/${provider}`, events: ["*"] });
    return { api, key: made.stdout.trim(), webhookId: webhook.id, webhookSecret: webhook.secret ?? "" };
  }

  private async serve(name: string, command: string, args: string[], options: SpawnOptions, end: NodeJS.Signals = "SIGTERM"): Promise<() => Promise<void>> {
    const log = fs.openSync(path.join(this.dir, `${name}.log`), "a");
    const child: ChildProcess = spawn(command, args, { ...options, stdio: ["ignore", log, log] });
    const over = new Promise<void>((resolve) => child.on("exit", () => resolve()));
    const stop = async () => {
      child.kill(end);
      const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await over;
      clearTimeout(late);
    };
    this.ends.push(stop);
    return stop;
  }
}

async function id(flag: string): Promise<number> {
  return Number((await run("id", [flag, "postgres"])).stdout);
}

async function step<T>(name: string, f: () => Promise<T>): Promise<T> {
  const began = Date.now();
  const value = await f();
  console.log(`  medusa ${name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
  return value;
}

export async function listen(server: http.Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function freePort(): Promise<number> {
  const server = http.createServer();
  const port = Number(new URL(await listen(server)).port);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Waits until f returns something. f is asked again and again, for at most so many seconds. */
export async function until<T>(what: string, f: () => Promise<T> | T, seconds = 180): Promise<NonNullable<T>> {
  for (const end = Date.now() + seconds * 1000; ; ) {
    const value = await f();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}
