"use strict";
// cascada.js shows a hosted checkout inside a shop's page. The operator must have allowed the shop's origin:
//   cascada shop brand SHP --frame https://shop.example
//
//   const checkout = Cascada.open(checkoutUrl, { onStatus, onClose });       a modal window
//   const checkout = Cascada.mount("#pay", checkoutUrl, { onStatus });       a frame of the height that it needs
//   checkout.close();
//
// onStatus({ transactionId, status }) is called when the shopper has chosen a method, and whenever the payment's status changes. Do not deliver
// by it: a shopper can forge it. Wait for the webhook, or read the payment with your secret key.
globalThis.Cascada ??= ((home) => {
  const frame = (url, { onStatus, title = "Checkout" } = {}, events = {}) => {
    const from = new URL(url, location.href).origin, element = document.createElement("iframe");
    if (from !== home) throw new Error(`Cascada: ${url} is no checkout of ${home}`);
    let before = "";
    const hear = (event) => {
      if (event.source !== element.contentWindow || event.origin !== from || event.data?.cascada !== 1) return;
      const { type, height, transactionId, status } = event.data;
      if (type === "height" && height > 0) element.style.height = `${Math.min(height, 10000)}px`;
      if (type === "escape") events.escape?.();
      const now = `${transactionId} ${status}`;
      if (type === "page" && transactionId && now !== before) {
        before = now;
        onStatus?.({ transactionId, status });
      }
    };
    element.src = url;
    element.title = title;
    element.allow = "clipboard-write; payment";
    element.style.cssText = "display:block;width:100%;height:640px;border:0;color-scheme:auto";
    // Each page in the frame is greeted, and answers to this origin alone.
    element.addEventListener("load", () => element.contentWindow?.postMessage({ cascada: "hello" }, from));
    addEventListener("message", hear);
    return { element, end: () => { removeEventListener("message", hear); element.remove(); } };
  };

  const mount = (where, url, options) => {
    const place = typeof where === "string" ? document.querySelector(where) : where;
    if (!place) throw new Error(`Cascada.mount: there is no element ${where}`);
    const { element, end } = frame(url, options);
    place.append(element);
    return { element, close: end };
  };

  const open = (url, options = {}) => {
    const window = document.createElement("dialog"), button = document.createElement("button");
    const { element, end } = frame(url, options, { escape: () => close() });
    window.style.cssText = "width:min(480px,100vw);max-width:100vw;max-height:100dvh;padding:0;border:0;border-radius:12px;overflow:auto;background:#fff";
    window.setAttribute("aria-label", element.title);
    button.type = "button";
    button.textContent = "×";
    button.setAttribute("aria-label", options.closeLabel ?? "Close");
    button.style.cssText = "position:sticky;top:0;float:right;z-index:1;width:44px;height:44px;border:0;background:none;font:24px/1 sans-serif;cursor:pointer;color:#555";
    button.addEventListener("click", () => close());
    let open = true;
    const close = () => {
      if (!open) return;
      open = false;
      window.close();
      end();
      window.remove();
      options.onClose?.();
    };
    window.addEventListener("cancel", (event) => { event.preventDefault(); close(); }); // Escape
    window.append(button, element);
    document.body.append(window);
    window.showModal();
    return { element, close };
  };

  return { mount, open };
})(new URL(document.currentScript.src).origin);
