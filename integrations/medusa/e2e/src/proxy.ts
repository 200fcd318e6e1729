import http from "node:http";
import { listen } from "./world.js";

/** A request that passed. */
export interface Seen {
  method: string;
  path: string;
  key: string;
}

/** Stands between Medusa and the service, and loses answers or the whole service on demand. */
export class Proxy {
  /** down: no request arrives; lose: requests arrive, and their answers do not. */
  mode: "pass" | "down" | "lose" = "pass";
  /** Which requests the mode is about: a part of "POST /api/v1/…". */
  about = "";
  /** How many requests the mode is about still. */
  times = Infinity;
  readonly seen: Seen[] = [];
  url = "";
  private server?: http.Server;

  async start(target: string): Promise<void> {
    this.server = http.createServer((req, res) => {
      const line = `${req.method} ${req.url}`;
      const hit = this.mode !== "pass" && this.times > 0 && line.includes(this.about);
      if (hit) this.times--;
      if (hit && this.mode === "down") return void req.socket.destroy();
      this.seen.push({ method: req.method ?? "", path: req.url ?? "", key: String(req.headers["idempotency-key"] ?? "") });
      const onward = http.request(target + req.url, { method: req.method, headers: req.headers }, (answer) => {
        if (hit) return void answer.resume().on("end", () => req.socket.destroy());
        res.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(res);
      });
      onward.on("error", () => req.socket.destroy());
      req.pipe(onward);
    });
    this.url = await listen(this.server);
  }

  /** Runs f while the service is down, or its answers to what about says are lost. */
  async while<T>(mode: "down" | "lose", about: string, f: () => Promise<T>, times = Infinity): Promise<T> {
    [this.mode, this.about, this.times] = [mode, about, times];
    try {
      return await f();
    } finally {
      [this.mode, this.about, this.times] = ["pass", "", Infinity];
    }
  }

  stop(): void {
    this.server?.closeAllConnections();
    this.server?.close();
  }
}
