import type { ErrorCode, ErrorDetails, ErrorType, FieldIssue } from "./generated/types.js";

/** The service refused the call. Switch on `code`, never on the message. */
export class CascadaError extends Error {
  override readonly name = "CascadaError";
  /** HTTP status. */
  readonly status: number;
  /** "" if the reply is not the service's but, for example, a proxy's. */
  readonly code: ErrorCode;
  readonly type: ErrorType;
  /** The offending field, "" if it is not one. */
  readonly param: string;
  /** Why the card's issuer declined, "" if it did not. */
  readonly declineCode: string;
  /** For support. */
  readonly requestId: string;
  /** Data for programs. A declined payment exists all the same: `details.transactionId` names it. */
  readonly details: ErrorDetails;
  /** How long to wait, in seconds; 0 if the reply does not say. */
  readonly retryAfter: number;
  /** The reply is the stored one to an earlier request with the same key. */
  readonly replayed: boolean;
  /** The key that was sent, "" for none: a repeat with it is never done twice. */
  readonly idempotencyKey: string;

  constructor(message: string, of: Partial<Omit<CascadaError, keyof Error>> & { status: number }) {
    super(message);
    this.status = of.status;
    this.code = of.code ?? "";
    this.type = of.type ?? "";
    this.param = of.param ?? "";
    this.declineCode = of.declineCode ?? "";
    this.requestId = of.requestId ?? "";
    this.details = of.details ?? {};
    this.retryAfter = of.retryAfter ?? 0;
    this.replayed = of.replayed ?? false;
    this.idempotencyKey = of.idempotencyKey ?? "";
  }

  /** What is wrong with each field of the request. */
  get issues(): FieldIssue[] {
    return this.details.issues ?? [];
  }

  /** The page that explains the code, "" if there is none. */
  get helpUrl(): string {
    return this.details.helpUrl ?? "";
  }
}

/**
 * No whole reply came: the network failed, the time was over, or the reply could not be read. It is not known whether the service
 * did what was requested.
 */
export class CascadaConnectionError extends Error {
  override readonly name = "CascadaConnectionError";
  /** The key that was sent, "" for none: a repeat with it is never done twice. */
  readonly idempotencyKey: string;

  constructor(message: string, idempotencyKey: string, cause: unknown) {
    super(message, { cause });
    this.idempotencyKey = idempotencyKey;
  }
}
