import { CascadaError } from "./errors.js";

/** How long before its end a token is renewed, in milliseconds; a tenth of its life if that is less. */
const renewBefore = 30_000;

interface Tokens {
  accessToken: string;
  refreshToken: string;
  expiresIn: number;
}

/** The credential of calls: a raw key, or an access token that is renewed. */
export class Session {
  private readonly raw: string;
  private access = "";
  private refresh = "";
  private renewAt = 0; // of performance.now(): a clock that is set does not matter
  private renewal: Promise<void> | undefined;

  constructor(
    private readonly publishable: string,
    private readonly secret: string,
    private readonly request: (path: string, body: Record<string, string>) => Promise<unknown>,
  ) {
    this.raw = publishable === "" ? secret : secret === "" ? publishable : "";
  }

  /** The credential for a call. Callers that need a new token at the same time wait for the same one. */
  async bearer(): Promise<string> {
    if (this.raw !== "") return this.raw;
    if (this.access === "" || performance.now() >= this.renewAt) {
      this.renewal ??= this.renew().finally(() => (this.renewal = undefined));
      await this.renewal;
    }
    return this.access;
  }

  private async renew(): Promise<void> {
    const refreshToken = this.refresh;
    // A refresh token works once: after a call with an unknown outcome it must not be sent again, that looks like theft.
    this.access = this.refresh = "";
    if (refreshToken !== "") {
      try {
        return await this.ask("/auth/refresh", { refreshToken });
      } catch (e) {
        if (!(e instanceof CascadaError) || e.status !== 401) throw e;
      }
    }
    await this.ask("/auth/token", { apiKey: this.publishable, secretKey: this.secret });
  }

  private async ask(path: string, body: Record<string, string>): Promise<void> {
    const asked = performance.now();
    const tokens = (await this.request(path, body)) as Tokens;
    const life = tokens.expiresIn * 1000;
    [this.access, this.refresh] = [tokens.accessToken, tokens.refreshToken];
    this.renewAt = asked + life - Math.min(renewBefore, life / 10);
  }

  /** Makes the next call renew a token that was refused. False if a new one would not help. */
  forget(access: string): boolean {
    if (this.raw !== "") return false;
    if (this.access === access) this.renewAt = 0;
    return true;
  }

  /** Ends the login of the tokens. Without one it does nothing. */
  async end(): Promise<void> {
    if (this.refresh === "") return;
    try {
      await this.request("/auth/logout", { refreshToken: this.refresh });
    } catch (e) {
      if (!(e instanceof CascadaError) || e.code !== "invalid_token") throw e; // it has already ended
    }
    this.access = this.refresh = "";
  }
}
