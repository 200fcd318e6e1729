// Keeps the page of an order as the order is. The server says when it has changed, and the page reads itself again.
const shown = document.querySelector<HTMLElement>("[data-live]");
if (shown) {
  const changes = new EventSource(shown.dataset["live"]!); // it connects again by itself
  changes.addEventListener("message", async () => {
    const reply = await fetch(location.href);
    if (!reply.ok) return;
    const now = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("[data-live]");
    // What somebody is typing stays.
    if (now && !shown.contains(document.activeElement?.closest("form") ?? null)) shown.replaceChildren(...now.childNodes);
  });
}
export {};
