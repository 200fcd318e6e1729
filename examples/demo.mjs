// Runs Cascada and the shop until Ctrl-C, on a temporary database: node demo.mjs CASCADA SHOP
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const [cascada, shop] = process.argv.slice(2);
const run = promisify(execFile);
const dir = mkdtempSync(join(tmpdir(), "cascada-demo-"));
const database = `sqlite:${join(dir, "demo.db")}`;
const children = [];
let ending = false;

/** Starts a program, shows its lines, and calls ready with what the pattern finds. In a session of its own, so that Ctrl-C reaches only us. */
function start(name, command, args, env, pattern) {
  return new Promise((ready, failed) => {
    const child = spawn(command, args, { cwd: dir, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"], detached: true });
    children.push(child);
    const last = [];
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on("line", (line) => {
        last.push(line);
        if (last.length > 20) last.shift();
        const match = pattern.exec(line);
        if (match) ready(match[1]);
        else if (/level=ERROR|^shop: /.test(line)) console.error(line);
      });
    }
    child.on("error", failed);
    child.on("exit", (code) => {
      if (!ending) failed(new Error(`${name} ended (${code}):\n${last.join("\n")}`));
      if (!ending) void end(1);
    });
  });
}

/** A free port, if possible this one. */
function port(wished) {
  return new Promise((found) => {
    const server = createServer();
    server.on("error", () => found(port(0)));
    server.listen(wished, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}

const over = (child) => child.exitCode !== null || child.signalCode !== null;

/** Ends both programs, gently first, and leaves nothing. */
async function end(code) {
  if (ending) return;
  ending = true;
  for (const child of children.toReversed()) {
    if (over(child)) continue;
    const gone = new Promise((done) => child.on("exit", done));
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
    await gone;
    clearTimeout(late);
  }
  rmSync(dir, { recursive: true, force: true });
  console.log(code === 0 ? "\ndemo: both have ended, and the temporary files are gone" : "demo: stopped");
  process.exit(code);
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void end(0));
process.on("exit", () => children.filter((child) => !over(child)).forEach((child) => child.kill("SIGKILL")));

try {
  if (!existsSync(cascada) || !existsSync(shop)) throw new Error("run make demo, which builds both");
  const listen = `127.0.0.1:${await port(Number(process.env.CASCADA_PORT ?? 8080))}`;
  const url = await start("cascada", cascada, ["serve", "--no-demo", "--allow-private-webhooks", "--listen", listen, "--database", database], {}, /cascada is ready" url=(\S+)/);
  const shopPort = await port(Number(process.env.SHOP_PORT ?? 3000));
  const shopUrl = `http://localhost:${shopPort}`;
  const ask = async (...args) => (await run(cascada, [...args, "--database", database], { cwd: dir })).stdout;
  const { shop: { id }, keys: { sandbox } } = JSON.parse(await ask("merchant", "create", "--name", "Demo Shop", "--email", "demo@example.com", "--tier", "standard", "--json"));
  await ask("shop", "brand", id, "--frame", shopUrl, "--color", "#1c5d4a"); // the shop's pages may embed the checkout
  const password = randomBytes(6).toString("hex");
  const env = {
    CASCADA_URL: url, CASCADA_SECRET_KEY: sandbox.secret, CASCADA_PUBLISHABLE_KEY: sandbox.publishable, SHOP_URL: shopUrl, PORT: String(shopPort),
    DATA_FILE: join(dir, "orders.jsonl"), ADMIN_PASSWORD: password,
  };
  const setup = await run(process.execPath, [join(shop, "made/setup.js")], { env: { ...process.env, ...env } });
  await start("shop", process.execPath, [join(shop, "made/main.js")], { ...env, CASCADA_WEBHOOK_SECRET: setup.stdout.trim() }, /^shop: ready at (\S+)/);
  console.log(`
The shop      ${shopUrl}
its orders    ${shopUrl}/admin   (any name, password ${password})
Cascada       ${url}

Buy something. What to try, by country (at the bottom of the shop's pages):

  Brasil          PIX; the document 52998224725
  México          SPEI, or cash at OXXO; the document GODE561231GR8
  Colombia        PSE
  United States   a card. A coffee and a sticker (.51): the card has no funds, and a second one pays. A coffee and a pin (.65): 3-D Secure

On the payment's page a link opens the simulated bank: pay there, decline, pay late or a wrong amount. Close the page after paying: the webhook
completes the order all the same. Press Back and buy again, buy twice at once, cancel, refund a part at /admin.
Ctrl-C ends both.
`);
} catch (e) {
  if (!ending) console.error(`demo: ${e instanceof Error ? e.message : e}`);
  await end(1);
}
