/** Runs what has the same key one after another: two clicks at once are one after the other. With several processes this is a row lock. */
export class Turns {
  private readonly last = new Map<string, Promise<unknown>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.last.get(key) ?? Promise.resolve()).then(work, work);
    this.last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.last.get(key) === mine) this.last.delete(key);
    }
  }

  /** Waits for all that has begun, and for what that begins. */
  async end(): Promise<void> {
    while (this.last.size > 0) await Promise.allSettled(this.last.values());
  }
}
