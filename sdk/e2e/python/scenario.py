"""The common scenario of the SDKs: each prints the same lines."""
from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cascadapay import AsyncCascada, Cascada, CascadaConnectionError, CascadaError, Reply, WebhookError, read_webhook, types


def line(*words: Any) -> None:
    def text(word: Any) -> str:
        if word is None:
            return "none"
        if isinstance(word, bool):
            return str(word).lower()
        return format(word, "f") if isinstance(word, Decimal) else str(word)

    print(*(text(word) for word in words), flush=True)


def digits(amount: Decimal) -> str:
    """Returns the digits of an amount, which must be what its type says."""
    if not isinstance(amount, Decimal):
        raise AssertionError(f"an amount is {amount!r}")
    return format(amount, "f")


def failure(what: str, call: Callable[[], Any]) -> None:
    """Prints how a call fails."""
    try:
        call()
        line(what, "did not fail")
    except CascadaError as e:
        limit = e.details.get("limit")
        line(what, e.status, e.code, e.type, e.param or "none", e.decline_code or "none", ",".join(i["path"] for i in e.issues) or "none",
             f"{digits(limit['min'])}-{digits(limit['max'])}" if limit else "none", e.details.get("transactionId", "")[:4] or "none", e.details.get("reason"),
             "helpUrl" in e.details, e.request_id != "")
    except CascadaConnectionError as e:
        line(what, "connection", e.idempotency_key != "")
    except (TypeError, ValueError):
        line(what, "refused here")


class Received:
    def __init__(self, headers: dict[str, str], body: bytes) -> None:
        self.headers, self.body = headers, body


class Receiver:
    """A shop's endpoint: it keeps what comes."""

    def __init__(self) -> None:
        received: queue.Queue[Received] = queue.Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                received.put(Received(dict(self.headers.items()), self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.received = received
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"


DOCUMENTS = {"sbx_pix": "52998224725", "sbx_spei": "GODE561231GR8"}


def pay(api: Cascada, method: str, amount: str, order: str) -> types.CreatedPayment:
    body: types.PaymentRequest = {"amount": amount, "paymentMethodId": method, "merchantOrderId": order}
    if method in DOCUMENTS:
        body["documentId"] = DOCUMENTS[method]
    return api.create_payment(body, idempotency_key=order)


def payments(api: Cascada) -> types.CreatedPayment:
    made = []
    for method in ["sbx_card", "sbx_cash", "sbx_pix", "sbx_pse", "sbx_spei"]:
        p = pay(api, method, "25.50", f"order-{method}")
        made.append(p)
        line("payment", method, p["status"], p["amount"], p["currency"], p["amountLocal"], p["currencyLocal"], p["fxRate"],
             "fees", p["fees"]["total"], "reserve", p["settlement"]["reserve"])
    replies: list[Reply] = []
    again = api.create_payment({"amount": Decimal("25.50"), "paymentMethodId": "sbx_card", "merchantOrderId": "order-sbx_card"},
                               idempotency_key="order-sbx_card", on_reply=replies.append)
    line("repeat", again["transactionId"] == made[0]["transactionId"], replies[0].replayed)
    failure("conflict", lambda: pay(api, "sbx_card", "26", "order-sbx_card"))
    failure("declined", lambda: pay(api, "sbx_card", "10.05", "order-declined"))
    failure("invalid", lambda: api.create_payment({"amount": -1, "paymentMethodId": "sbx_card", "userEmail": "nobody"}))
    failure("limits", lambda: pay(api, "sbx_cash", "0.01", "order-limits"))
    failure("missing", lambda: api.get_payment("TXN-no/such?one"))
    return made[0]


def checkout(api: Cascada) -> None:
    session = api.create_checkout_session({
        "amount": Decimal("49.90"), "currency": "BRL", "country": "BR", "merchantOrderId": "order-session", "metadata": {"cart": "c-311"},
        "lineItems": [{"name": "Tea", "quantity": "0.5", "unitAmount": "99.80"}],
        "customer": {"firstName": "Ana", "lastName": "Souza", "email": "ana@example.com", "phone": "+5511999990000", "documentId": "52998224725"},
    })
    line("session", session["status"], session["amount"], session["currency"], session["lineItems"][0]["quantity"], session["metadata"]["cart"])
    read = api.get_checkout_session(session["sessionId"])
    customer = read["customer"]
    line("session of", customer["firstName"] if customer else None, read["status"])
    selected = api.select_checkout_method(session["sessionId"], {"paymentMethodId": "sbx_pix"})
    line("selected", selected["status"], selected["transactionStatus"])
    failure("selected again", lambda: api.select_checkout_method(session["sessionId"], {"paymentMethodId": "sbx_pix"}))


def verify(what: str, secret: str, r: Received, now: float | None = None) -> None:
    try:
        read_webhook(r.body, r.headers, secret, now=now)
        line(what, "accepted")
    except WebhookError as e:
        line(what, e.reason)


def told(event: types.Event) -> str:
    """Reads what the type of an event promises, without a cast."""
    if event["type"] == "payment.completed":
        payment = event["data"]["object"]
        return f"{payment['merchantOrderId']} {payment['amount']} {event['data']['previous'].get('status')}"
    if event["type"] == "claim.opened":
        return event["data"]["object"]["type"]
    return f"unknown {event['type']}"


def webhooks(api: Cascada) -> None:
    endpoint = Receiver()
    webhook = api.create_webhook({"url": endpoint.url, "events": ["payment.completed"]})
    secret = webhook["secret"]
    line("webhook", webhook["status"], secret[:6], webhook["managed"])
    first = pay(api, "sbx_pix", "12.34", "order-hook-1")
    api.simulate_payment(first["transactionId"], {"action": "paid"})
    delivery = endpoint.received.get(timeout=60)
    event = read_webhook(delivery.body, delivery.headers, secret)
    line("event", event["type"], event["sequence"], told(event))
    verify("tampered", secret, Received(delivery.headers, delivery.body.replace(b"12.34", b"99.34")))
    verify("foreign", "whsec_foreign", delivery)
    found = re.search(r"t=(\d+)", {name.lower(): value for name, value in delivery.headers.items()}["x-service-signature"])
    sent = int(found[1]) if found else 0
    verify("in time", secret, delivery, sent + 300)
    verify("late", secret, delivery, sent + 301)
    verify("early", secret, delivery, sent - 301)
    rotated = api.rotate_webhook_secret(webhook["id"])
    second = pay(api, "sbx_pix", "10", "order-hook-2")
    api.simulate_payment(second["transactionId"], {"action": "paid"})
    signed_twice = endpoint.received.get(timeout=60)
    verify("old secret", secret, signed_twice)
    verify("new secret", rotated["secret"], signed_twice)
    line("deliveries", sum(d["event"] == "payment.completed" for d in api.all_deliveries(webhook["id"], {"limit": 1})))
    endpoint.server.shutdown()
    line("events", *(f"{e['type']}:{e['sequence']}" for e in api.all_events({"objectId": second["transactionId"], "limit": 1})))
    line("deleted", api.delete_webhook(webhook["id"])["deleted"])


def books(api: Cascada, card: types.CreatedPayment) -> None:
    refund = api.refund_payment(card["transactionId"], {"amount": "5.25", "reason": "one item"})
    line("refund", refund["amount"], refund["currency"], refund["amountUsd"], refund["reason"])
    p = api.get_payment(card["transactionId"])
    line("refunded", p["status"], p["refundedAmountLocal"], p["refundableAmountLocal"])
    failure("too much", lambda: api.refund_payment(card["transactionId"], {"amount": "20.26"}))
    line("payments", *(row["merchantOrderId"] for row in api.all_payments({"limit": 3})))
    page = api.list_payments({"status": "completed", "amount": Decimal("12.34"), "limit": 1})
    line("page", len(page["data"]), page["pagination"]["total"], page["data"][0]["amount"])
    balance = api.get_balance()
    buckets = balance["balance"]
    line("balance", buckets["available"], buckets["pending"], buckets["frozen"], buckets["reserve"],
         "gross", balance["feeSummary"]["grossVolume"], "fees", balance["feeSummary"]["totalFees"])
    sums: dict[str, Decimal] = {}
    for m in api.all_movements({"limit": 7}):
        sums[m["bucket"]] = sums.get(m["bucket"], Decimal()) + m["amount"]
    line("exact", sums["pending"] == buckets["pending"], sums["reserve"] == buckets["reserve"],
         buckets["available"] + buckets["pending"] + buckets["reserve"] + buckets["frozen"])
    rows = api.export_payments({"status": "completed"}).text.strip().split("\n")
    line("csv", len(rows), ",".join(rows[0].split(",")[:3]))


def scenario(api: Cascada) -> None:
    ping = api.ping()
    line("ping", ping["ok"], ping["environment"], ping["keyKind"], ping["apiVersion"])
    for m in sorted(api.list_payment_methods()["methods"], key=lambda m: m["paymentMethodId"]):
        line("method", m["paymentMethodId"], m["method"], m["countryIso3"], m["channel"], m["routable"], m["fee"]["percent"],
             ",".join(f"{limit['currency']}:{limit['min']}-{limit['max']}" for limit in m["currencyLimits"]))
    card = payments(api)
    checkout(api)
    webhooks(api)
    books(api, card)
    api.logout()
    line("after logout", api.ping()["ok"])


def flaky(api: Cascada) -> None:
    """Pays through a proxy that loses answers and refuses."""
    made = [api.create_payment({"amount": f"1{i}.10", "paymentMethodId": "sbx_card", "merchantOrderId": f"flaky-{i}"}) for i in (1, 2, 3)]
    line("paid", *(f"{p['status']}:{p['amount']}" for p in made))
    line("refund", api.refund_payment(made[0]["transactionId"], {"amount": "1.10"})["amount"])
    line("webhook", api.create_webhook({"events": ["payment.completed"]})["status"])
    line("webhooks", api.list_webhooks()["pagination"]["total"])
    failure("wallet", lambda: api.create_wallet({"type": "bank_account", "currency": "MXN", "destination": "032180000118359719"}))
    line("wallets", api.list_wallets()["pagination"]["total"])
    line("payments", api.list_payments()["pagination"]["total"], "gross", api.get_balance()["feeSummary"]["grossVolume"])


async def flaky_async(api: AsyncCascada) -> None:
    """The same with asyncio, at the same time where it can be."""
    async with api:
        made = await asyncio.gather(*(
            api.create_payment({"amount": f"1{i}.10", "paymentMethodId": "sbx_card", "merchantOrderId": f"flaky-{i}"}) for i in (1, 2, 3)))
        line("paid", *(f"{p['status']}:{p['amount']}" for p in made))
        line("refund", (await api.refund_payment(made[0]["transactionId"], {"amount": "1.10"}))["amount"])
        line("webhook", (await api.create_webhook({"events": ["payment.completed"]}))["status"])
        line("webhooks", (await api.list_webhooks())["pagination"]["total"])
        try:
            await api.create_wallet({"type": "bank_account", "currency": "MXN", "destination": "032180000118359719"})
        except CascadaConnectionError as e:
            line("wallet", "connection", e.idempotency_key != "")
        line("wallets", (await api.list_wallets())["pagination"]["total"])
        rows = [row async for row in api.all_payments({"limit": 1})]
        line("payments", len(rows), "gross", (await api.get_balance())["feeSummary"]["grossVolume"])
        await api.logout()


def attack(api: Cascada) -> None:
    """Reads replies that no service sends."""
    p = api.get_payment("unknown")
    extra: dict[str, Any] = dict(p)
    line("unknown", p["status"], p["amount"], p["fees"]["total"], extra["newBig"], extra["newSmall"], extra["newRate"],
         json.dumps(extra["newObject"], separators=(",", ":")), "__proto__" in extra, p["metadata"]["n"])
    future = api.get_event("future")
    line("future", future["type"], future["sequence"])
    for name in ["redirect", "short", "chunks", "html", "empty", "deep", "later", "brand-new", "latin"]:
        failure(name, lambda name=name: api.get_payment(name))  # type: ignore[misc]
    failure("slow", lambda: api.get_payment("slow", timeout=0.3, retries=0))
    replies: list[Reply] = []
    api.get_payment("date", on_reply=replies.append)
    line("date", replies[-1].tries)
    api.get_payment("stale", on_reply=replies.append)
    line("stale", replies[-1].tries)
    line("path", api.get_payment("../../a b?c#d/%2e")["id"])
    for name in ["..", "."]:
        failure(f"path {name}", lambda name=name: api.get_payment(name))  # type: ignore[misc]
    for amount in ["1e3", "25,50", "0x10", "", " 1", "NaN", "١"]:
        failure(f"amount {amount}", lambda amount=amount: api.create_payment({"amount": amount, "paymentMethodId": "sbx_card"}))  # type: ignore[misc]
    failure("key", lambda: api.create_payment({"amount": 1, "paymentMethodId": "sbx_card"}, idempotency_key="a\nAuthorization: b"))
    failure("csv", lambda: api.export_payments())
    api.create_payment({"amount": 1, "paymentMethodId": "busy"}, on_reply=replies.append)
    line("busy", replies[-1].tries)
    failure("stored", lambda: api.create_payment({"amount": 1, "paymentMethodId": "stored"}))
    api.simulate_payment("nothing-done", {"action": "paid"}, on_reply=replies.append)
    line("nothing done", replies[-1].tries)
    failure("proxy", lambda: api.simulate_payment("proxy", {"action": "paid"}))
    rows = 0
    for _ in api.all_payments({"limit": 1}):
        rows += 1
        if rows > 9:
            break
    line("rows", rows)
    line("sent", api.create_payment({"amount": "12345678901234567.89", "paymentMethodId": 'é"', "metadata": {"amount": "0.10"}})["merchantOrderId"])


def vectors(_: Cascada) -> None:
    """Verifies the deliveries of the documentation."""
    for v in json.loads(os.environ["CASCADA_VECTORS"]):
        verify(v["name"], v["secret"], Received({"X-Service-Signature": v["header"]}, v["body"].encode()), v["now"])


def main() -> None:
    settings: dict[str, Any] = {"publishable_key": os.environ["CASCADA_PUBLISHABLE"], "secret_key": os.environ["CASCADA_SECRET"], "retries": 5, "retry_delay": 0.01}
    if "--async" in sys.argv:
        asyncio.run(flaky_async(AsyncCascada(os.environ["CASCADA_URL"], **settings)))
        return
    {"scenario": scenario, "flaky": flaky, "attack": attack, "vectors": vectors}[sys.argv[-1]](Cascada(os.environ["CASCADA_URL"], **settings))


main()
