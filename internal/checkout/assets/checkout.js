"use strict";
// Copy buttons, printing, the countdown and live status. Pages work without.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const from = document.getElementById(button.dataset.copy);
    let value = from.value || from.textContent;
    if (/^[\d ]+$/.test(value)) value = value.replaceAll(" ", "");
    try {
      await navigator.clipboard.writeText(value);
    } catch {
      // No permission, or an old browser on plain http: select, and copy that.
      const selection = getSelection();
      if (from.select) from.select(); else selection.selectAllChildren(from);
      document.execCommand("copy");
    }
    const word = button.textContent;
    button.textContent = button.dataset.done;
    setTimeout(() => { button.textContent = word; }, 2000);
  });
}
for (const button of document.querySelectorAll("[data-print]")) {
  button.addEventListener("click", () => print());
}
for (const list of document.querySelectorAll("[data-submit]")) {
  list.addEventListener("change", () => list.form.submit());
}
const left = document.querySelector("[data-left]");
if (left) {
  const end = performance.now() + 1000 * left.dataset.left;
  const two = (n) => String(n).padStart(2, "0");
  const tick = () => {
    const s = Math.max(0, Math.round((end - performance.now()) / 1000));
    const days = Math.floor(s / 86400);
    left.textContent = `(${days ? days + " d " : ""}${two(Math.floor(s / 3600) % 24)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)} ${left.dataset.word})`;
    if (s > 0) setTimeout(tick, 1000);
  };
  // Read aloud once a second it would drown the page.
  left.setAttribute("aria-hidden", "true");
  tick();
}
const live = document.querySelector("[data-live]");
if (live && window.EventSource) {
  new EventSource(live.dataset.live).addEventListener("status", () => location.reload());
}
