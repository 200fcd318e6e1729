"""What mypy says about a caller's mistakes: the check of the SDKs reads this file, and nobody runs it. A line with an ignored error that has none
is an error."""
from __future__ import annotations

from cascadapay import AsyncCascada, Cascada


def mistakes(api: Cascada) -> None:
    # Values that are misspelt.
    api.simulate_payment("TXN-1", {"action": "payed"})  # type: ignore[typeddict-item]
    api.list_payments({"status": "complete"})  # type: ignore[typeddict-item]
    api.create_webhook({"events": ["payment.complete"]})  # type: ignore[list-item]
    api.update_webhook("wh_1", {"status": "enable"})  # type: ignore[typeddict-item]
    api.replay_events("wh_1", {"from": "2026-01-01", "types": ["*"]})  # type: ignore[list-item]
    api.create_wallet({"type": "bank", "currency": "MXN", "destination": "032180000118359719"})  # type: ignore[typeddict-item]

    # What is required, alone or as one of several.
    api.replay_events("wh_1", {"types": ["payment.failed"]})  # type: ignore[typeddict-item]
    api.quote_withdrawal()  # type: ignore[call-arg]
    api.create_payment({"amount": "10"})  # type: ignore[arg-type]
    api.create_payment({"paymentMethodId": "sbx_card"})  # type: ignore[arg-type]
    api.create_checkout_session({"amount": "10"})  # type: ignore[arg-type]
    api.create_payment_link({"description": "Yoga class"})  # type: ignore[arg-type]

    # What may be None has to be looked at.
    installments = api.get_payment("TXN-1")["installments"]
    if installments is not None:
        installments["amountLocal"].copy_abs()  # type: ignore[union-attr]

    # A client's settings.
    AsyncCascada("https://pay.example", secret_keys="sk_test_1")  # type: ignore[call-arg]
    AsyncCascada("https://pay.example", secret_key="sk_test_1", timeout="90")  # type: ignore[arg-type]


def fine(api: Cascada) -> list[str]:
    """No mistakes: a cursor goes on to the next call, and replies may have values that are new."""
    cursor: str | None = None
    while True:
        page = api.list_payments({"status": "completed", "startingAfter": cursor})
        cursor = page["pagination"]["nextCursor"]
        if cursor is None:
            break
    made = api.create_payment({"amount": 10, "paymentMethodId": "sbx_card"})
    if made["status"] == "on_hold_by_a_later_version":
        return []
    api.create_checkout_session({"amount": "10", "customer": {"firstName": "Ana", "lastName": "Souza", "email": "ana@example.com", "phone": "+5511999990000"}})
    api.create_webhook({"events": ["*"], "authentication": {"header": "X-Api-Key", "value": "secret"}})
    return [e["type"] for e in api.list_events({"type": "payment.failed"})["data"]]
