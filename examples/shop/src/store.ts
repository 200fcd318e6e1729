// The orders, in one file of facts, a line each. A fact is on the disk before anybody acts on it or hears of it.
//
// Your shop has a database: placing an order is an INSERT, an event is INSERT … ON CONFLICT (event_id) DO NOTHING together with the change of the
// order, in one transaction. What matters is the same: the key of a call is stored before the call, and an event before its answer.
import { closeSync, fdatasyncSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { EventEmitter } from "node:events";
import { apply, placed, type Fact, type Order } from "./orders.js";

export class Store {
  private readonly file: number;
  private size: number;
  private readonly orders = new Map<string, Order>();
  private readonly carts = new Map<string, Order>();
  private readonly events = new Set<string>();
  private readonly changes = new EventEmitter().setMaxListeners(0);
  /** The time of the newest event, undefined if there is none. */
  newestEvent: string | undefined;

  constructor(path: string) {
    this.file = openSync(path, "a+", 0o600); // it has names and addresses
    const bytes = readFileSync(this.file);
    this.size = bytes.lastIndexOf("\n") + 1;
    // A last line without its end was being written when the power went. Nobody acted on it.
    if (this.size < bytes.length) ftruncateSync(this.file, this.size);
    for (const line of bytes.subarray(0, this.size).toString().split("\n")) if (line !== "") this.apply(JSON.parse(line) as Fact);
  }

  /** Stores a fact. */
  add(fact: Fact): void {
    const line = Buffer.from(`${JSON.stringify(fact)}\n`);
    try {
      for (let at = 0; at < line.length; ) at += writeSync(this.file, line, at);
      fdatasyncSync(this.file);
    } catch (e) {
      ftruncateSync(this.file, this.size); // half a line must not have another one after it
      throw e;
    }
    this.size += line.length;
    this.apply(fact);
    this.changes.emit(fact.order);
  }

  private apply(fact: Fact): void {
    if (fact.fact === "placed") {
      const order = placed(fact.order, fact.at, fact.draft);
      this.orders.set(order.id, order);
      this.carts.set(order.cartId, order);
    }
    if (fact.fact === "event") {
      this.events.add(fact.event);
      if (fact.at > (this.newestEvent ?? "")) this.newestEvent = fact.at;
    }
    const order = this.orders.get(fact.order);
    if (order) apply(order, fact);
  }

  get(id: string): Order | undefined {
    return this.orders.get(id);
  }

  /** Newest first. */
  all(): Order[] {
    return [...this.orders.values()].reverse();
  }

  /** The latest order of a cart. */
  ofCart(cartId: string): Order | undefined {
    return this.carts.get(cartId);
  }

  knowsEvent(id: string): boolean {
    return this.events.has(id);
  }

  /** Calls back after each change of an order, until the returned function is called. */
  watch(id: string, changed: () => void): () => void {
    this.changes.on(id, changed);
    return () => this.changes.off(id, changed);
  }

  close(): void {
    closeSync(this.file);
  }
}
