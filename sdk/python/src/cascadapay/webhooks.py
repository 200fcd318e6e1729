"""Verifies deliveries of webhooks, and reads their events."""
from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Mapping, Sequence
from typing import Literal, cast

from ._json import parse
from .types import Event

TOLERANCE = 300
"""How far a signature's time may be from now, in seconds."""
# The most characters of the header: some fourteen signatures.
_MAX_HEADER = 1024


class WebhookError(Exception):
    """Why a delivery is refused.

    reason is "signature": no secret signed this body; "stale": the signature is genuine, but was made too far from now, so an old
    delivery was sent again or a clock is wrong; or "unreadable": the service sent this, but it cannot be read as an event.
    """

    def __init__(self, reason: Literal["signature", "stale", "unreadable"], message: str) -> None:
        super().__init__(message)
        self.reason = reason


def read_webhook(body: bytes, headers: str | Mapping[str, str], secret: str | Sequence[str], *, tolerance: int = TOLERANCE, now: float | None = None) -> Event:
    """Verifies a delivery and reads its event. WebhookError.

    body is the request's body as it was received, headers its headers or the value of X-Service-Signature. secret is the webhook's
    whole secret, whsec_ included; of several, one match is enough. now is the time in seconds since 1970, for tests.
    """
    _verify(body, _header(headers), [secret] if isinstance(secret, str) else secret, tolerance, time.time() if now is None else now)
    try:
        event = parse(body, "Event")
        if isinstance(event["id"], str) and isinstance(event["type"], str) and isinstance(event["data"]["object"], dict):
            return cast(Event, event)
    except (ValueError, KeyError, TypeError):
        pass
    raise WebhookError("unreadable", "the delivery is not a readable event")


def _header(headers: str | Mapping[str, str]) -> str:
    if isinstance(headers, str):
        return headers
    return next((value for name, value in headers.items() if name.lower().replace("_", "-") in ("x-service-signature", "http-x-service-signature")), "")


def _verify(body: bytes, header: str, secrets: Sequence[str], tolerance: int, now: float) -> None:
    # Schemes of later versions are skipped; of two times it would be unclear which one was signed.
    pairs = [pair.strip().partition("=")[::2] for pair in header.split(",")] if len(header) <= _MAX_HEADER else []
    stamps = [value for scheme, value in pairs if scheme == "t"]
    if len(stamps) != 1 or not re.fullmatch(r"[0-9]{1,12}", stamps[0]):
        raise WebhookError("signature", "X-Service-Signature is missing or has no time")
    signatures = [value.lower() for scheme, value in pairs if scheme in ("v1", "v0") and value.isascii()]
    known = [secret for secret in secrets if secret]  # anybody can sign with an empty one
    if not known:
        raise WebhookError("signature", "there is no secret to verify with")
    genuine = False
    for secret in known:
        want = hmac.new(secret.encode(), stamps[0].encode() + b"." + body, hashlib.sha256).hexdigest()
        for signature in signatures:
            genuine = hmac.compare_digest(signature, want) or genuine
    if not genuine:
        raise WebhookError("signature", "the delivery is not signed with the webhook's secret")
    # The time is checked last: "stale" is said of genuine signatures only.
    age = int(now) - int(stamps[0])
    if abs(age) > tolerance:
        raise WebhookError("stale", f"the delivery's signature is {age} seconds old")
