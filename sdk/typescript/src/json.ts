// JSON without loss: JSON.parse reads every number as a float, so the digits of an amount would be gone. A decimal is read as its
// digits where the API's document says that a field is a number, an integer as a number where it fits into one.
import { eventObjects, shapes } from "./generated/shapes.js";

/** How deep values may be nested. The API's are not deeper than ten. */
const maxDepth = 100;

/** A number of a JSON text, before it is known what it is of. */
class Numeral {
  constructor(readonly digits: string) {}
}

const numeral = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literals: [string, unknown][] = [["true", true], ["false", false], ["null", null]];

class Reader {
  private at = 0;
  constructor(private readonly text: string) {}

  whole(): unknown {
    const value = this.value(0);
    this.space();
    if (this.at < this.text.length) this.fail();
    return value;
  }

  private fail(): never {
    throw new SyntaxError(`unexpected JSON at character ${this.at}`);
  }

  private space(): void {
    while (" \n\r\t".includes(this.text[this.at] ?? "x")) this.at++;
  }

  private accept(character: string): boolean {
    this.space();
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private value(depth: number): unknown {
    if (depth > maxDepth) this.fail();
    if (this.accept("{")) return this.object(depth);
    if (this.accept("[")) return this.array(depth);
    if (this.text[this.at] === '"') return this.string();
    for (const [word, value] of literals) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    numeral.lastIndex = this.at;
    const match = numeral.exec(this.text) ?? this.fail();
    this.at += match[0].length;
    return new Numeral(match[0]);
  }

  private object(depth: number): unknown {
    const made: Record<string, unknown> = {};
    if (this.accept("}")) return made;
    do {
      this.space();
      const name = this.string();
      if (!this.accept(":")) this.fail();
      // As JSON.parse does: "__proto__" is a name like any other.
      Object.defineProperty(made, name, { value: this.value(depth + 1), enumerable: true, configurable: true, writable: true });
    } while (this.accept(","));
    return this.accept("}") ? made : this.fail();
  }

  private array(depth: number): unknown {
    const made: unknown[] = [];
    if (this.accept("]")) return made;
    do made.push(this.value(depth + 1));
    while (this.accept(","));
    return this.accept("]") ? made : this.fail();
  }

  private string(): string {
    if (this.text[this.at] !== '"') this.fail();
    let end = this.at;
    for (;;) {
      end = this.text.indexOf('"', end + 1);
      if (end < 0) this.fail();
      let slashes = 0;
      while (this.text[end - 1 - slashes] === "\\") slashes++;
      if (slashes % 2 === 0) break;
    }
    const quoted = this.text.slice(this.at, end + 1);
    this.at = end + 1;
    return JSON.parse(quoted) as string;
  }
}

/** number returns a number whose field is not known to be a decimal. One that would lose digits stays text. */
function number(n: Numeral): number | string {
  const value = Number(n.digits);
  return Number.isSafeInteger(value) && /^-?\d+$/.test(n.digits) ? value : n.digits;
}

function shaped(value: unknown, shape: string | undefined): unknown {
  if (value instanceof Numeral) return shape === "n" ? value.digits : number(value);
  if (Array.isArray(value)) return value.map((one) => shaped(one, shape));
  if (typeof value !== "object" || value === null) return value;
  const object = value as Record<string, unknown>;
  const of = own(shapes, shape);
  for (const name of Object.keys(object)) {
    const field = shape === "Event" && name === "data" ? `data of ${String(object["type"])}` : own(of, name);
    Object.defineProperty(object, name, { value: below(object[name], shape, field), enumerable: true, configurable: true, writable: true });
  }
  return object;
}

/** below reads a field. The data of an event has an object, and its type says of which shape. */
function below(value: unknown, shape: string | undefined, field: string | undefined): unknown {
  if (shape !== "Event" || !field?.startsWith("data of ") || typeof value !== "object" || value === null || Array.isArray(value)) {
    return shaped(value, field);
  }
  const data = value as Record<string, unknown>;
  for (const name of Object.keys(data)) {
    data[name] = shaped(data[name], name === "object" ? own(eventObjects, field.slice("data of ".length)) : undefined);
  }
  return data;
}

function own<T>(table: Record<string, T> | undefined, name: string | undefined): T | undefined {
  return table && name !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** parse reads a JSON text of a shape, a page's rows with "Page:". SyntaxError. */
export function parse(text: string, shape?: string): unknown {
  const value = new Reader(text).whole();
  const row = shape?.startsWith("Page:") ? shape.slice("Page:".length) : undefined;
  if (row === undefined) return shaped(value, shape);
  const page = shaped(typeof value === "object" && value !== null && "data" in value ? { ...value, data: null } : value, undefined) as Record<string, unknown>;
  return { ...page, data: shaped((value as Record<string, unknown>)["data"], row) };
}

/** stringify writes a body of a shape. A decimal's digits become a JSON number as they are. TypeError. */
export function stringify(value: unknown, shape?: string): string {
  if (shape === "n" && value !== null) return amount(value);
  if (Array.isArray(value)) return `[${value.map((one) => stringify(one, shape)).join(",")}]`;
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) {
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined || (text === "null" && value !== null)) throw new TypeError(`${String(value)} cannot be sent as JSON`);
    return text;
  }
  const of = own(shapes, shape);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${stringify(field, own(of, name))}`).join(",")}}`;
}

function amount(value: unknown): string {
  const text = typeof value === "string" ? value : typeof value === "bigint" || Number.isSafeInteger(value) ? String(value) : "";
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text)) {
    throw new TypeError(`an amount is the digits of a decimal number, such as "25.50", not ${typeof value === "string" ? JSON.stringify(value) : String(value)}`);
  }
  return text;
}
