"use strict";
// Inside a shop's page, which cascada.js drew: tells it how high this page is, and how the payment stands. Only origins that the operator
// allowed get an answer.
const frames = (document.documentElement.dataset.frames || "").split(" ");
if (window.parent !== window) addEventListener("message", (event) => {
  if (event.source !== window.parent || !frames.includes(event.origin) || event.data?.cascada !== "hello") return;
  const say = (message) => window.parent.postMessage({ cascada: 1, ...message }, event.origin);
  const { payment, status } = document.documentElement.dataset;
  say({ type: "page", transactionId: payment ?? null, status: status ?? null });
  const tall = () => say({ type: "height", height: Math.ceil(document.body.getBoundingClientRect().height) });
  if (window.ResizeObserver) new ResizeObserver(tall).observe(document.body);
  tall();
  addEventListener("keydown", (key) => { if (key.key === "Escape") say({ type: "escape" }); });
});
