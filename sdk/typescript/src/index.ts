import { Operations } from "./generated/operations.js";

/** The API of a Cascada service. It may be shared by all parts of a program; make one and keep it. */
export class Cascada extends Operations {}

export { Download } from "./core.js";
export type { CallOptions, Config, IdempotentOptions, Page, Reply } from "./core.js";
export { decimal, type Decimal } from "./decimal.js";
export { CascadaConnectionError, CascadaError } from "./errors.js";
export * from "./generated/types.js";
export { readWebhook, readWebhookRequest, WebhookError } from "./webhooks.js";
export type { Delivery as WebhookDelivery, EventOf, UnknownEvent, WebhookProblem } from "./webhooks.js";
