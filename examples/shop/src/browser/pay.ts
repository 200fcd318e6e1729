// The checkout inside of the shop's page. Nothing here decides that an order is paid: the server does, by the webhook.
import { Cascada, CascadaError, type SessionMethod } from "@cascadapay/sdk";

interface Shown {
  close(): void;
}

/** What cascada.js makes. */
declare global {
  interface Window {
    Cascada?: {
      open(checkoutUrl: string, options: { onClose?: () => void; closeLabel?: string; title?: string }): Shown;
      mount(where: Element, checkoutUrl: string, options: { title?: string }): Shown;
    };
  }
}

const place = document.querySelector<HTMLElement>("#pay")!;
const { mode, cascada: url, key: publishableKey, session, checkout, order, live, close } = place.dataset as Record<string, string>;

/** The order's page knows how it ended. */
const toOrder = () => location.assign(order!);
new EventSource(live!).addEventListener("message", async () => {
  const page = new DOMParser().parseFromString(await (await fetch(order!)).text(), "text/html");
  if (page.querySelector(".status.paid, .status.canceled")) toOrder();
});

const embed = window.Cascada;
if (!embed) location.assign(checkout!); // the script did not load: the page itself will
else if (mode === "window") {
  const open = () => embed.open(checkout!, { onClose: toOrder, closeLabel: close!, title: document.title });
  place.querySelector("button")!.addEventListener("click", open);
  open();
} else {
  await choose(embed);
}

/** Draws the methods of the session, selects one, and shows its payment in a frame. */
async function choose(embed: NonNullable<Window["Cascada"]>): Promise<void> {
  // In the page, with what a page may have: a publishable key and the session's token. So the request comes from the shopper's address, as providers expect.
  const api = new Cascada({ url: url!, publishableKey: publishableKey! });
  const { methods } = await api.getCheckoutSession(session!);
  const show = (address: string) => {
    form.hidden = true;
    embed.mount(place, address, { title: document.title });
  };
  const form = place.querySelector("form")!;
  if (!methods) return show(checkout!); // a method was chosen before
  const asked = place.querySelector<HTMLElement>(".document")!;
  const typed = asked.querySelector("input")!;
  const failed = place.querySelector<HTMLElement>(".problem")!;
  let chosen: SessionMethod | undefined;
  const select = (method: SessionMethod) => {
    chosen = method;
    asked.hidden = !method.needsDocument;
    typed.required = method.needsDocument;
  };
  for (const method of methods.filter((m) => m.payable)) {
    const [option, input, label] = [document.createElement("p"), document.createElement("input"), document.createElement("label")];
    option.className = "option";
    Object.assign(input, { type: "radio", name: "method", id: method.paymentMethodId, value: method.paymentMethodId, checked: !chosen });
    label.htmlFor = input.id;
    label.textContent = method.name;
    input.addEventListener("change", () => select(method));
    if (!chosen) select(method);
    option.append(input, label);
    form.querySelector(".options")!.append(option);
  }
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button")!;
    button.disabled = true;
    failed.hidden = true;
    try {
      const made = await api.selectCheckoutMethod(session!, { paymentMethodId: chosen!.paymentMethodId, ...(chosen!.needsDocument && { customer: { documentId: typed.value.trim() } }) });
      const address = new URL(made.checkoutUrl);
      address.searchParams.set("lang", document.documentElement.lang);
      show(address.href);
    } catch (e) {
      // A second tab was faster: the session leads to that payment.
      if (e instanceof CascadaError && e.code === "checkout_session_already_completed") return show(checkout!);
      failed.hidden = false;
      button.disabled = false;
    }
  });
}
