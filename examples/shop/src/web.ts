// What node:http leaves to its users: routes, forms, cookies, and the headers that keep strangers out.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { config } from "./config.js";

export interface Reply {
  status?: number;
  type?: string;
  body?: string | Buffer;
  headers?: Record<string, string | string[]>;
}

export class Call {
  readonly path: string;
  readonly query: URLSearchParams;
  /** The parts of the path that the route's pattern catches. */
  params: string[] = [];
  readonly cookies: Map<string, string>;
  /** Set-Cookie of the reply. */
  readonly set: string[] = [];

  constructor(readonly request: IncomingMessage, readonly response: ServerResponse) {
    // Not new URL: it throws at what strangers send, such as "//[".
    const [path = "", query = ""] = (request.url ?? "").split("?", 2);
    this.path = path;
    this.query = new URLSearchParams(query);
    this.cookies = new Map((request.headers.cookie ?? "").split(/; */).map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]));
  }

  async body(most: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let size = 0;
    for await (const part of this.request as AsyncIterable<Buffer>) {
      if ((size += part.length) > most) throw new Refused(413);
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  async form(): Promise<URLSearchParams> {
    return new URLSearchParams((await this.body(64 << 10)).toString());
  }

  /** Scripts do not see the cookie, and other sites' forms do not send it. */
  setCookie(name: string, value: string): void {
    this.cookies.set(name, value);
    this.set.push(`${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000${config.url.startsWith("https:") ? "; Secure" : ""}`);
  }
}

/** A request that is answered with a status alone. */
export class Refused extends Error {
  constructor(readonly status: number, readonly headers: Record<string, string> = {}) {
    super(String(status));
  }
}

export interface Route {
  method: "GET" | "POST";
  path: RegExp;
  /** Anybody may post here: the request proves by itself who sent it. */
  open?: true;
  /** A reply, or undefined if it has answered itself. */
  answer(call: Call): Promise<Reply | undefined> | Reply | undefined;
}

export const redirect = (to: string): Reply => ({ status: 303, headers: { Location: to } });

/** Where browsers find the SDK: they know no packages. It is the only script that stands in a page, and the policy has its hash. */
export const importMap = JSON.stringify({ imports: { "@cascadapay/sdk": "/assets/sdk/index.js" } });
const hash = createHash("sha256").update(importMap).digest("base64");

/** Only our own scripts, styles and forms; and Cascada's script, frame, API and page. form-action also says where a form may be redirected to. */
const policy = [
  "default-src 'none'", "style-src 'self'", "img-src 'self' data:", "base-uri 'none'", "frame-ancestors 'none'", `script-src 'self' 'sha256-${hash}' ${config.cascada.url}`,
  `connect-src 'self' ${config.cascada.url}`, `frame-src ${config.cascada.url}`, `form-action 'self' ${config.cascada.url}`,
].join("; ");

const always = {
  "Content-Security-Policy": policy, "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
};

/** Serves routes. problem makes the page of a refusal. */
export function serve(routes: Route[], problem: (call: Call, status: number) => Reply): Server {
  const server = createServer((request, response) => {
    void answer(new Call(request, response), routes, problem);
  });
  server.requestTimeout = 30_000;
  return server;
}

async function answer(call: Call, routes: Route[], problem: (call: Call, status: number) => Reply): Promise<void> {
  let reply: Reply | undefined;
  try {
    reply = await route(call, routes);
    if (!reply) return;
  } catch (e) {
    if (!(e instanceof Refused)) console.error("shop:", call.request.method, call.path, e);
    reply = problem(call, e instanceof Refused ? e.status : 500);
    if (e instanceof Refused) reply.headers = { ...reply.headers, ...e.headers };
  }
  if (call.response.headersSent || call.response.destroyed) return void call.response.destroy();
  const headers: Record<string, string | string[]> = { ...always, "Content-Type": reply.type ?? "text/html; charset=utf-8", ...reply.headers };
  if (call.set.length > 0) headers["Set-Cookie"] = call.set;
  call.response.writeHead(reply.status ?? 200, headers).end(call.request.method === "HEAD" ? undefined : reply.body);
}

function route(call: Call, routes: Route[]): Reply | undefined | Promise<Reply | undefined> {
  const method = call.request.method === "HEAD" ? "GET" : call.request.method;
  const fitting = routes.flatMap((route) => {
    const match = route.path.exec(call.path);
    return match ? [{ route, match }] : [];
  });
  const found = fitting.find(({ route }) => route.method === method);
  if (!found) throw new Refused(fitting.length > 0 ? 405 : 404);
  // Browsers send the Origin of the page with every POST. A form on another site cannot pretend to be ours.
  if (method === "POST" && !found.route.open && call.request.headers.origin !== config.url) throw new Refused(403);
  call.params = found.match.slice(1);
  return found.route.answer(call);
}
