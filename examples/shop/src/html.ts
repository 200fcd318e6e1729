// A page's text. Whatever is put into html`…` is escaped, so a name with <script> in it is a name.

export class Html {
  constructor(readonly text: string) {}
}

type Value = Html | string | number | false | null | undefined | readonly Value[];

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function show(value: Value): string {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(show).join("");
  if (value === false || value === null || value === undefined) return "";
  return String(value).replace(/[&<>"']/g, (character) => entities[character]!);
}

/** Attributes need quotation marks around their value. Scripts get values by attributes, never by text in a script. */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(parts.map((part, i) => part + (i < values.length ? show(values[i]) : "")).join(""));
}
