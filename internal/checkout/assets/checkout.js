"use strict";
// Copy buttons, printing, the countdown, times in the shopper's zone and live status. Pages
// work without it (noscript.css hides what needs a script).
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const from = document.getElementById(button.dataset.copy);
    let value = from.dataset.value || from.value || from.textContent;
    if (/^[\d ]+$/.test(value)) value = value.replaceAll(" ", "");
    try {
      await navigator.clipboard.writeText(value);
    } catch {
      // No permission, or an old browser on plain http: select, and copy that.
      const selection = getSelection();
      if (from.select) from.select(); else selection.selectAllChildren(from);
      document.execCommand("copy");
    }
    // The live region around it reads the button's text aloud; its name still says what it copies.
    const label = button.firstElementChild || button;
    button.dataset.word ??= label.textContent;
    label.textContent = button.dataset.done;
    setTimeout(() => { label.textContent = button.dataset.word; }, 2000);
  });
}
for (const button of document.querySelectorAll("[data-print]")) {
  button.addEventListener("click", () => print());
}
// If the browser's language does not show the shopper's country, its time zone may.
const guess = document.querySelector("select[data-guess]");
if (guess && !new URLSearchParams(location.search).has("country")) {
  const zone = (new Intl.DateTimeFormat().resolvedOptions().timeZone || "").split("/").pop();
  const there = [...guess.options].find((o) => o.dataset.zones?.split(" ").includes(zone));
  if (there) {
    const next = new URL(location.href);
    next.searchParams.set("country", there.value);
    location.replace(next);
  }
}
// A pressed button shows that, and works once.
for (const button of document.querySelectorAll("button[data-busy]")) {
  button.form.addEventListener("submit", (event) => {
    if (button.getAttribute("aria-busy") === "true") return event.preventDefault();
    const word = button.textContent;
    button.setAttribute("aria-busy", "true");
    button.textContent = button.dataset.busy;
    // A shopper who stops the page from loading can press again: the service accepts one choice only.
    setTimeout(() => { button.removeAttribute("aria-busy"); button.textContent = word; }, 15000);
  });
}
// A document's number gets its usual format; input that does not fit the mask stays as it is.
for (const field of document.querySelectorAll("input[data-mask]")) {
  const masks = field.dataset.mask.split("|"), kinds = {0: /\d/, "*": /[\dK]/, A: /[\dA-Z]/};
  const fits = (mask, typed) => {
    const places = mask.replace(/[^0*A]/g, ""), first = mask.startsWith("<") ? places.length - typed.length : 0;
    return typed.length <= places.length && [...typed].every((c, i) => kinds[places[first + i]].test(c));
  };
  const write = () => {
    const typed = field.value.replace(/[ ./-]/g, "").toUpperCase(), mask = masks.find((m) => fits(m, typed));
    if (field.selectionStart !== field.value.length || !mask) return;
    const back = mask.startsWith("<"), turn = (list) => back ? list.reverse() : list;
    const left = turn([...typed]), out = [];
    for (const c of turn([...mask.replace("<", "")])) {
      if (left.length === 0) break;
      out.push(c in kinds ? left.shift() : c);
    }
    field.value = turn(out).join("");
  };
  field.addEventListener("input", write);
  // A shopper fixes a wrong number from its end, so the cursor goes there.
  if (field.autofocus) field.setSelectionRange(field.value.length, field.value.length);
}
// The page has times in the zone of the payment's country; the script changes them to the shopper's.
const page = document.documentElement;
const language = page.dataset.region ? `${page.lang.slice(0, 2)}-${page.dataset.region}` : page.lang;
const hour12 = "halves" in page.dataset;
for (const at of document.querySelectorAll("time[data-zone]")) {
  const year = "dated" in at.dataset ? "numeric" : undefined;
  const write = (timeZone) => new Intl.DateTimeFormat(language, { day: "numeric", month: "long", year, hour: hour12 ? "numeric" : "2-digit", minute: "2-digit", hour12, timeZone }).format(new Date(at.dateTime)).replace(/\s([ap])\.\s?m\./, "\u00a0$1.m.");
  const here = write(undefined);
  // The sentence has its own full stop after "p.m.".
  if (here !== write(at.dataset.zone)) at.textContent = at.nextSibling?.textContent.startsWith(".") ? here.replace(/\.$/, "") : here;
}
const left = document.querySelector("[data-left]");
if (left) {
  const end = performance.now() + 1000 * left.dataset.left;
  const two = (n) => String(n).padStart(2, "0");
  const days = (n) => new Intl.NumberFormat(language, { style: "unit", unit: "day", unitDisplay: "long" }).format(n);
  const tick = () => {
    const s = Math.max(0, Math.round((end - performance.now()) / 1000));
    // With days left, seconds do not matter.
    const time = s >= 2 * 86400 ? days(Math.round(s / 86400)) : `${two(Math.floor(s / 3600))}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
    left.textContent = `(${left.dataset.word.replace("{left}", time)})`;
    if (s > 0) setTimeout(tick, 1000);
  };
  // A screen reader would read it every second.
  left.setAttribute("aria-hidden", "true");
  tick();
}
// Back may show the page in its old state: load the present one.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
const live = document.querySelector("[data-live]");
if (live) {
  const slowest = 30000;
  let stream, timer, pause = 3000, over = false;
  const reload = () => { over = true; location.reload(); };
  const later = () => {
    clearTimeout(timer);
    if (over) return;
    if (document.hidden) pause = slowest; // on return to the page it asks at once
    timer = setTimeout(ask, pause * (0.75 + Math.random() / 2));
    pause = Math.min(slowest, pause * 1.5);
  };
  // Without a stream, because there are too many or a proxy breaks it, the page polls.
  const ask = async () => {
    clearTimeout(timer);
    if (over) return;
    try {
      const answer = await fetch(live.dataset.state, { cache: "no-store" });
      const word = answer.ok ? await answer.text() : "";
      if (word === "moved") return reload();
      if (word === "final") { over = true; stream?.close(); return; }
    } catch { /* no connection: later */ }
    if (!stream || stream.readyState === EventSource.CLOSED) later();
  };
  const watch = () => {
    if (!window.EventSource) return ask();
    stream?.close();
    stream = new EventSource(live.dataset.live);
    stream.addEventListener("status", reload);
    stream.addEventListener("open", () => { pause = 3000; clearTimeout(timer); });
    // After a refusal a browser does not reconnect by itself.
    stream.addEventListener("error", () => { if (stream.readyState === EventSource.CLOSED) later(); });
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || over) return;
    pause = 3000;
    if (!stream || stream.readyState === EventSource.CLOSED) watch();
    ask();
  });
  addEventListener("online", () => ask());
  // The stream may report a form's effect before the form's answer arrives: a reload then would
  // interrupt the form.
  addEventListener("submit", () => { over = true; clearTimeout(timer); stream?.close(); });
  watch();
}
