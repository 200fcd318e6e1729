// The calls: credentials, time limits, and repeats that never do anything twice.
import { CascadaConnectionError, CascadaError } from "./errors.js";
import { apiVersion, type ErrorDetails } from "./generated/types.js";
import { parse, stringify } from "./json.js";
import { Session } from "./session.js";

const version = "0.1.0";
/** The service gives each provider 20 s, and a cascade may call several. */
const defaultTimeout = 90_000;
const defaultRetries = 3;
const defaultRetryDelay = 500;
const longestDelay = 8_000;
/** A service that wants a longer pause than this is not waited for: the error says how long. In milliseconds. */
const longestRetryAfter = 60_000;
/** The most bytes of a reply that is kept in memory. */
const maxReply = 16 << 20;
/** A page may use a publishable key and a session's token, but the service takes no name of a program from it. */
const browser = globalThis.navigator?.userAgent?.startsWith("Mozilla/") ?? false;

export interface Config {
  /** The service's address, such as https://pay.example.com, with or without /api/v1. */
  url: string;
  /** A secret key, or a restricted one. With a publishable key beside it both are exchanged for tokens, and the key itself is not sent with each call. */
  secretKey?: string;
  /** A publishable key. Alone it reaches only ping and listPaymentMethods. */
  publishableKey?: string;
  /** Selects a shop, if the credentials are the whole merchant's. */
  shopId?: string;
  /** The most milliseconds of one try, 90,000 unless set. */
  timeout?: number;
  /** How many times a call may be repeated, 3 unless set. */
  retries?: number;
  /** The pause before the first repeat in milliseconds, 500 unless set. It doubles, and is spread at random. */
  retryDelay?: number;
  /** Unknown fields of requests are refused. For tests. */
  strict?: boolean;
  /** Makes the requests, for tests and proxies. */
  fetch?: typeof fetch;
}

/** What a reply says beside its body. */
export interface Reply {
  status: number;
  requestId: string;
  /** It is the stored reply to an earlier request with the same key. */
  replayed: boolean;
  /** How many requests were sent. */
  tries: number;
  headers: Headers;
}

export interface CallOptions {
  /** Instead of the client's. */
  timeout?: number;
  retries?: number;
  shopId?: string;
  /** Ends the call. */
  signal?: AbortSignal;
  /** Gets what the reply says beside its body. */
  onReply?: (reply: Reply) => void;
}

export interface IdempotentOptions extends CallOptions {
  /**
   * Makes it safe to send the same request again, for seven days. Without one the client makes one for the tries of this call;
   * give your own, kept with the order, so that your repeats are safe too.
   */
  idempotencyKey?: string;
}

/** One page of a list. */
export interface Page<T> {
  data: T[];
  pagination: {
    /** Rows that the filter selects, on all pages. */
    total: number;
    limit: number;
    offset: number;
    pages: number;
    /** There are at least `total` rows. */
    totalCapped?: boolean;
    /** `startingAfter` of the next page; null on the last one. */
    nextCursor: string | null;
  };
}

/** A file. Read it once: as a stream, as bytes or as text. */
export class Download {
  constructor(private readonly response: Response) {}

  get contentType(): string {
    return this.response.headers.get("Content-Type") ?? "";
  }

  get stream(): ReadableStream<Uint8Array> {
    return this.response.body ?? new ReadableStream({ start: (controller) => controller.close() });
  }

  /** CascadaConnectionError if it ends early. */
  async bytes(): Promise<Uint8Array> {
    try {
      return new Uint8Array(await this.response.arrayBuffer());
    } catch (e) {
      throw new CascadaConnectionError(`cascada: the file did not come whole: ${String(e)}`, "", e);
    }
  }

  /** CascadaConnectionError if it ends early. */
  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }
}

/** What the document says of an operation. */
interface Operation {
  id: string;
  method: string;
  path: string;
  body?: string;
  reply?: string;
  page?: true;
  key?: true;
  open?: true;
  fixed?: Record<string, string>;
}

interface Call {
  path: string[];
  query?: object;
  body?: unknown;
  options: IdempotentOptions & { sandboxSimulate?: string; sandboxStrict?: boolean };
}

/** A request that may be sent several times. */
interface Prepared {
  method: string;
  address: string;
  headers: Record<string, string>;
  body?: string;
  /** Without credentials. */
  open: boolean;
  /** A repeat is never done twice. */
  safe: boolean;
  file: boolean;
  shape?: string;
  timeout: number;
  retries: number;
  signal?: AbortSignal;
}

/** Core makes the calls of the operations. */
export class Core {
  private readonly base: string;
  private readonly config: Config;
  private readonly session: Session;

  constructor(config: Config) {
    const url = new URL(config.url);
    if (url.protocol !== "https:" && url.protocol !== "http:") throw new TypeError("cascada: url must be an http or https address");
    if (!config.secretKey && !config.publishableKey) throw new TypeError("cascada: a secretKey or a publishableKey is needed");
    for (const key of [config.secretKey ?? "", config.publishableKey ?? ""]) {
      if (!/^[!-~]*$/.test(key)) throw new TypeError("cascada: a key has a space, a line break or another character that no key has");
    }
    this.base = config.url.replace(/\/+$/, "").replace(/\/api\/v1$/, "") + "/api/v1";
    this.config = config;
    this.session = new Session(config.publishableKey ?? "", config.secretKey ?? "", async (path, body) => {
      const headers = { "Content-Type": "application/json", ...this.always() };
      const [value] = await this.repeat({
        method: "POST", address: this.base + path, headers, body: JSON.stringify(body), open: true, safe: path === "/auth/token", file: false,
        timeout: config.timeout ?? defaultTimeout, retries: config.retries ?? defaultRetries,
      });
      return value;
    });
  }

  /** Ends the login of the client's tokens. The next call begins a new one. Without a login it does nothing. */
  logout(): Promise<void> {
    return this.session.end();
  }

  protected async json<T>(of: Operation, call: Call): Promise<T> {
    const [value] = await this.repeat(this.prepare(of, call, false), call.options.onReply);
    return value as T;
  }

  protected async file(of: Operation, call: Call): Promise<Download> {
    const [value] = await this.repeat(this.prepare(of, call, true), call.options.onReply);
    return value as Download;
  }

  /** Iterates over the rows from a page on. New rows do not shift the pages. */
  protected async *each<T, Q extends { startingAfter?: string | null | undefined; offset?: number | undefined }>(query: Q, page: (query: Q) => Promise<Page<T>>): AsyncGenerator<T, void, undefined> {
    for (let at = query; ; ) {
      const { data, pagination } = await page(at);
      yield* data;
      if (!pagination.nextCursor || pagination.nextCursor === at.startingAfter) return;
      const { offset: _, ...rest } = at;
      at = { ...rest, startingAfter: pagination.nextCursor } as Q;
    }
  }

  private always(): Record<string, string> {
    const headers = { Accept: "application/json", "Service-Version": apiVersion };
    return browser ? headers : { ...headers, "User-Agent": `cascada-typescript/${version}` };
  }

  private prepare(of: Operation, call: Call, file: boolean): Prepared {
    const { options } = call;
    let at = 0;
    const path = of.path.replace(/\{\w+\}/g, () => segment(of.id, call.path[at++]));
    const query = new URLSearchParams(of.fixed);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined && value !== null) query.set(name, String(value));
    }
    const shop = options.shopId ?? this.config.shopId;
    if (shop !== undefined && !of.open) query.set("shopId", shop);
    if (this.config.strict) query.set("strict", "true");
    const headers = this.always();
    if (file) headers["Accept"] = "*/*";
    const key = of.key ? (options.idempotencyKey ?? crypto.randomUUID()) : "";
    if (of.key && !/^[ -~]{1,255}$/.test(key)) throw new TypeError("cascada: an idempotencyKey is 1 to 255 printable characters");
    if (key !== "") headers["Idempotency-Key"] = key;
    if (options.sandboxSimulate !== undefined) headers["Sandbox-Simulate"] = options.sandboxSimulate;
    if (options.sandboxStrict !== undefined) headers["Sandbox-Strict"] = String(options.sandboxStrict);
    const prepared: Prepared = {
      method: of.method, address: this.base + path + (String(query) === "" ? "" : `?${query}`), headers, open: of.open ?? false,
      safe: of.method === "GET" || of.key === true, file,
      timeout: options.timeout ?? this.config.timeout ?? defaultTimeout, retries: options.retries ?? this.config.retries ?? defaultRetries,
    };
    if (call.body !== undefined) {
      headers["Content-Type"] = "application/json";
      prepared.body = stringify(call.body, of.body);
    }
    if (of.reply !== undefined) prepared.shape = of.page ? `Page:${of.reply}` : of.reply;
    if (options.signal !== undefined) prepared.signal = options.signal;
    return prepared;
  }

  /** Sends a request until it is answered, and no longer than its retries allow. */
  private async repeat(p: Prepared, onReply?: (reply: Reply) => void): Promise<[unknown]> {
    let renewed = false;
    for (let tries = 1, failures = 0; ; tries++) {
      const bearer = p.open ? "" : await this.session.bearer();
      const [failure, response, value] = await this.once(p, bearer);
      if (failure === undefined) {
        onReply?.({
          status: response.status, requestId: response.headers.get("X-Request-Id") ?? "", tries, headers: response.headers,
          replayed: response.headers.get("Idempotency-Replayed") === "true",
        });
        return [value];
      }
      if (stale(failure) && !renewed && bearer !== "" && this.session.forget(bearer)) {
        renewed = true; // the service has done nothing
        continue;
      }
      const pause = this.pause(failure, p.safe, failures++, p.retries);
      if (pause === undefined) throw failure;
      await sleep(pause, p.signal);
    }
  }

  /** The pause before a repeat in milliseconds; undefined if there must be none. */
  private pause(failure: CascadaError | CascadaConnectionError, safe: boolean, failures: number, retries: number): number | undefined {
    if (failures >= retries) return undefined;
    let least = 0;
    if (failure instanceof CascadaError) {
      if (!(safe ? repeatable(failure) : nothingDone(failure))) return undefined;
      least = failure.retryAfter * 1000;
    } else if (!safe) {
      return undefined;
    }
    if (least > longestRetryAfter) return undefined;
    const delay = Math.min(longestDelay, (this.config.retryDelay ?? defaultRetryDelay) * 2 ** failures);
    return Math.max(least, delay * (0.5 + Math.random() / 2));
  }

  /** Sends a request once. */
  private async once(p: Prepared, bearer: string): Promise<[undefined, Response, unknown] | [CascadaError | CascadaConnectionError, undefined?, undefined?]> {
    const stop = new AbortController();
    const abort = () => stop.abort(p.signal?.reason);
    if (p.signal?.aborted) throw p.signal.reason;
    p.signal?.addEventListener("abort", abort);
    const timer = setTimeout(() => stop.abort(new DOMException(`no reply within ${p.timeout} ms`, "TimeoutError")), p.timeout);
    const key = p.headers["Idempotency-Key"] ?? "";
    try {
      const init: RequestInit = { method: p.method, headers: bearer === "" ? p.headers : { ...p.headers, Authorization: `Bearer ${bearer}` }, redirect: "manual", signal: stop.signal };
      if (p.body !== undefined) init.body = p.body;
      const response = await (this.config.fetch ?? fetch)(p.address, init);
      if (response.ok && p.file) return [undefined, response, new Download(response)];
      const text = await read(response);
      if (!response.ok) return [refusal(response, text, key)];
      return [undefined, response, parse(text, p.shape)];
    } catch (e) {
      if (p.signal?.aborted) throw p.signal.reason;
      return [new CascadaConnectionError(`cascada: ${p.method} ${new URL(p.address).pathname}: ${stop.signal.aborted ? String(stop.signal.reason) : String(e)}`, key, e)];
    } finally {
      clearTimeout(timer);
      p.signal?.removeEventListener("abort", abort);
    }
  }
}

/** segment writes an id into a path. "." and ".." would lead to another operation. */
function segment(operation: string, id: string | undefined): string {
  if (typeof id !== "string" || id === "" || id === "." || id === "..") throw new TypeError(`cascada: ${operation} needs an id, not ${JSON.stringify(id)}`);
  return encodeURIComponent(id);
}

/** The service refused the token rather than the call. */
function stale(failure: Error): boolean {
  return failure instanceof CascadaError && (failure.code === "token_expired" || failure.code === "invalid_token");
}

/** A repeat with the same key may be answered otherwise. */
function repeatable(e: CascadaError): boolean {
  if (e.replayed) return false;
  return e.status === 429 || e.status >= 500 || (e.code === "idempotency_conflict" && e.details.reason === "request_in_progress");
}

/** The service says that it has done nothing. */
function nothingDone(e: CascadaError): boolean {
  return e.status === 429 || (e.code === "service_unavailable" && e.details.reason === undefined);
}

async function read(response: Response): Promise<string> {
  if (!response.body) return "";
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if ((size += value.length) > maxReply) {
      await reader.cancel();
      throw new RangeError(`the reply is larger than ${maxReply} bytes`);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(whole);
}

/** refusal reads a reply that is not 2xx. */
function refusal(response: Response, text: string, idempotencyKey: string): CascadaError {
  const from = response.headers;
  const of = { status: response.status, retryAfter: retryAfter(from), replayed: from.get("Idempotency-Replayed") === "true", idempotencyKey };
  let e: Record<string, unknown> | undefined;
  try {
    e = (parse(text, "Envelope") as { error?: Record<string, unknown> }).error;
  } catch {
    // not the service's
  }
  if (typeof e !== "object" || e === null || typeof e["code"] !== "string" || e["code"] === "") {
    const moved = response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400);
    const message = moved ? "a redirect, which is not followed: it does not come from the service" : text.slice(0, 200).trim() || response.statusText;
    return new CascadaError(`${response.status}: ${message}`, { ...of, requestId: from.get("X-Request-Id") ?? "" });
  }
  const word = (name: string) => (typeof e[name] === "string" ? e[name] : "");
  return new CascadaError(word("message"), {
    ...of, code: word("code"), type: word("type"), param: word("param"), declineCode: word("decline_code"),
    requestId: word("requestId") || (from.get("X-Request-Id") ?? ""), details: (e["details"] ?? {}) as ErrorDetails,
  });
}

/** The pause that a reply asks for, in seconds. A date counts from the reply's own: this machine's clock may be wrong. */
function retryAfter(from: Headers): number {
  const text = from.get("Retry-After")?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const [until, now] = [Date.parse(text), Date.parse(from.get("Date") ?? "")];
  return Number.isNaN(until) ? 0 : Math.max(0, (until - (Number.isNaN(now) ? Date.now() : now)) / 1000);
}

function sleep(pause: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, pause);
    signal?.addEventListener("abort", end, { once: true });
  });
}
