import type { Event } from "./generated/types.js";
import { parse } from "./json.js";

/** An event about an object. */
export interface EventOf<Type extends string, Object> {
  /** The same for all endpoints and tries: drop an event that you have seen. */
  id: string;
  type: Type;
  apiVersion: string;
  createdAt: string;
  environment: "sandbox" | "production" | (string & {});
  merchantId: string;
  shopId: string;
  /** Counts the object's events from 1; 0 for payment.created and payment.pending. */
  sequence: number;
  /** The request that caused it. */
  request: { id: string | null; idempotencyKey: string | null };
  data: { object: Object; previous: { status?: string } };
}

/** The type of an event that the service added since this version was made: some string. It exists for the compiler only, so that
 * a `case "payment.completed"` is about payments alone. */
declare enum LaterEventType {
  Later = "",
}

/** An event that the service added since this version was made. Its type is a string like the others. */
export type UnknownEvent = EventOf<LaterEventType, Record<string, unknown>>;

/** Why a delivery is refused. */
export type WebhookProblem =
  /** No secret signed this body. */
  | "signature"
  /** The signature is genuine, but was made too far from now: an old delivery was sent again, or a clock is wrong. */
  | "stale"
  /** The service sent this, but it cannot be read as an event. */
  | "unreadable";

export class WebhookError extends Error {
  override readonly name = "WebhookError";
  constructor(readonly reason: WebhookProblem, message: string) {
    super(message);
  }
}

/** How far a signature's time may be from now, in seconds. */
const tolerance = 300;
/** The most characters of the header: some fourteen signatures. */
const maxHeader = 1024;
/** The most bytes of an event. */
const maxEvent = 4 << 20;

export interface Delivery {
  /** The webhook's whole secret, whsec_ included. Several: one match is enough. */
  secret: string | readonly string[];
  /** The request's headers, or the value of X-Service-Signature. */
  headers: string | Headers | Record<string, string | string[] | undefined>;
  /** The request's body as it was received. */
  body: string | Uint8Array;
  /** In seconds, 300 unless set. */
  tolerance?: number;
  /** The time in seconds since 1970, for tests. */
  now?: number;
}

/** Verifies a delivery and reads its event. WebhookError. */
export async function readWebhook(delivery: Delivery): Promise<Event> {
  const body = typeof delivery.body === "string" ? new TextEncoder().encode(delivery.body) : delivery.body;
  await verify(delivery, body);
  try {
    const event = parse(new TextDecoder("utf-8", { fatal: true }).decode(body), "Event") as Event;
    if (typeof event.id === "string" && typeof event.type === "string" && typeof event.data?.object === "object") return event;
  } catch {
    // as below
  }
  throw new WebhookError("unreadable", "the delivery is not a readable event");
}

/** Verifies a delivery that comes as a Request of the Fetch API, and reads its event. WebhookError. */
export async function readWebhookRequest(request: Request, secret: string | readonly string[]): Promise<Event> {
  const body = new Uint8Array(await request.arrayBuffer());
  if (body.length > maxEvent) throw new WebhookError("unreadable", "the delivery is larger than any event");
  return readWebhook({ secret, headers: request.headers, body });
}

async function verify(delivery: Delivery, body: Uint8Array): Promise<void> {
  const [stamp, signatures] = parts(header(delivery.headers));
  const secrets = (typeof delivery.secret === "string" ? [delivery.secret] : delivery.secret).filter((s) => s !== ""); // anybody can sign with an empty one
  if (secrets.length === 0) throw new WebhookError("signature", "there is no secret to verify with");
  const encoder = new TextEncoder();
  const start = encoder.encode(`${stamp}.`);
  const signed = new Uint8Array(start.length + body.length);
  signed.set(start);
  signed.set(body, start.length);
  let genuine = false;
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    // subtle.verify compares in constant time.
    for (const signature of signatures) genuine = (await crypto.subtle.verify("HMAC", key, signature, signed)) || genuine;
  }
  if (!genuine) throw new WebhookError("signature", "the delivery is not signed with the webhook's secret");
  // The time is checked last: "stale" is said of genuine signatures only.
  const age = Math.floor(delivery.now ?? Date.now() / 1000) - Number(stamp);
  if (Math.abs(age) > (delivery.tolerance ?? tolerance)) throw new WebhookError("stale", `the delivery's signature is ${age} seconds old`);
}

function header(headers: Delivery["headers"]): string {
  if (typeof headers === "string") return headers;
  if (headers instanceof Headers) return headers.get("X-Service-Signature") ?? "";
  const found = Object.entries(headers).find(([name]) => name.toLowerCase() === "x-service-signature")?.[1];
  return Array.isArray(found) ? found.join(",") : (found ?? "");
}

/** Splits the header. Schemes of later versions are skipped; of two times it would be unclear which one was signed. */
function parts(text: string): [string, Uint8Array<ArrayBuffer>[]] {
  const pairs = text.length > maxHeader ? [] : text.split(",").map((pair) => pair.trim().split("=", 2) as [string, string?]);
  const stamps = pairs.filter(([scheme]) => scheme === "t").map(([, value = ""]) => value);
  const [stamp = ""] = stamps;
  if (stamps.length !== 1 || !/^\d{1,12}$/.test(stamp)) throw new WebhookError("signature", "X-Service-Signature is missing or has no time");
  const signatures = pairs.filter(([scheme, value = ""]) => (scheme === "v1" || scheme === "v0") && /^[0-9a-f]{64}$/i.test(value));
  return [stamp, signatures.map(([, value = ""]) => Uint8Array.from(value.match(/../g) ?? [], (byte) => parseInt(byte, 16)))];
}
