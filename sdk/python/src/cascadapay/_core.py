"""The calls: credentials, time limits, and repeats that never do anything twice."""
from __future__ import annotations

import email.utils
import http.client
import random
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from ._errors import CascadaConnectionError, CascadaError
from ._json import amount, parse, stringify
from .types import API_VERSION

VERSION = "0.1.0"
# The service gives each provider 20 s, and a cascade may call several.
DEFAULT_TIMEOUT = 90.0
DEFAULT_RETRIES = 3
DEFAULT_RETRY_DELAY = 0.5
LONGEST_DELAY = 8.0
# A service that wants a longer pause than this is not waited for: the error says how long. In seconds.
LONGEST_RETRY_AFTER = 60.0
# The most bytes of a reply that is read as JSON.
MAX_REPLY = 16 << 20
# How long before its end a token is renewed, in seconds; a tenth of its life if that is less.
RENEW_BEFORE = 30.0
_PART = 64 << 10


@dataclass(frozen=True)
class Reply:
    """What a reply says beside its body."""

    status: int
    request_id: str
    replayed: bool
    """It is the stored reply to an earlier request with the same key."""
    tries: int
    """How many requests were sent."""
    headers: Mapping[str, str]


OnReply = Callable[[Reply], None]


@dataclass(frozen=True)
class Download:
    """A file. With to its content was written there, and is empty here."""

    content_type: str
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode("utf-8")


@dataclass(frozen=True)
class Operation:
    """What the document says of an operation."""

    method: str
    path: str
    body: str | None = None
    reply: str | None = None
    page: bool = False
    key: bool = False
    open: bool = False
    fixed: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Prepared:
    """A request that may be sent several times."""

    method: str
    address: str
    headers: dict[str, str]
    body: bytes | None
    timeout: float
    retries: int
    open: bool = False  # without credentials
    safe: bool = False  # a repeat is never done twice
    file: bool = False
    shape: str | None = None
    page: bool = False
    to: BinaryIO | None = None
    begun: bool = False  # something was written to to


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The API never redirects: a redirect does not come from it, and must not get the key."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Core:
    """Makes the calls. It may be shared by threads; make one and keep it.

    url is the service's address, such as https://pay.example.com, with or without /api/v1. secret_key is a secret or restricted
    key; with a publishable_key beside it both are exchanged for tokens, and the key itself is not sent with each call. A
    publishable_key alone reaches only ping and list_payment_methods. shop_id selects a shop, if the credentials are the whole
    merchant's. timeout is the most seconds of one try, retries how many times a call may be repeated, retry_delay the seconds
    before the first repeat, which double and are spread at random. strict makes the service refuse unknown fields, for tests.
    """

    def __init__(self, url: str, *, secret_key: str = "", publishable_key: str = "", shop_id: str | None = None, timeout: float = DEFAULT_TIMEOUT,
                 retries: int = DEFAULT_RETRIES, retry_delay: float = DEFAULT_RETRY_DELAY, strict: bool = False) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError("cascadapay: url must be an http or https address")
        if not secret_key and not publishable_key:
            raise ValueError("cascadapay: a secret_key or a publishable_key is needed")
        if not re.fullmatch(r"[!-~]*", secret_key + publishable_key):
            raise ValueError("cascadapay: a key has a space, a line break or another character that no key has")
        self._base = re.sub(r"/api/v1$", "", url.rstrip("/")) + "/api/v1"
        self._shop_id, self._timeout, self._retries, self._retry_delay, self._strict = shop_id, timeout, retries, retry_delay, strict
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._session = _Session(self, publishable_key, secret_key)

    def logout(self) -> None:
        """Ends the login of the client's tokens. The next call begins a new one. Without a login it does nothing."""
        self._session.end()

    def _call(self, of: Operation, path: list[str], *, body: Any = None, query: Any = None, to: BinaryIO | None = None,
              idempotency_key: str | None = None, sandbox_simulate: str | None = None, sandbox_strict: bool | None = None,
              timeout: float | None = None, retries: int | None = None, shop_id: str | None = None, on_reply: OnReply | None = None) -> Any:
        ids = iter(path)
        address = re.sub(r"\{\w+\}", lambda _: _segment(next(ids)), of.path)
        pairs = dict(of.fixed)
        for name, value in (query or {}).items():
            if value is not None:
                pairs[name] = amount(value) if name == "amount" else _word(value)
        shop = shop_id if shop_id is not None else self._shop_id
        if shop is not None and not of.open:
            pairs["shopId"] = shop
        if self._strict:
            pairs["strict"] = "true"
        headers = _always("application/json" if of.reply else "*/*")
        if of.key:
            key = idempotency_key if idempotency_key is not None else str(uuid.uuid4())
            if not re.fullmatch(r"[ -~]{1,255}", key):
                raise ValueError("cascadapay: an idempotency_key is 1 to 255 printable characters")
            headers["Idempotency-Key"] = key
        if sandbox_simulate is not None:
            headers["Sandbox-Simulate"] = sandbox_simulate
        if sandbox_strict is not None:
            headers["Sandbox-Strict"] = _word(sandbox_strict)
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = stringify(body, of.body).encode()
        return self._repeat(_Prepared(
            of.method, self._base + address + ("?" + urllib.parse.urlencode(pairs) if pairs else ""), headers, content,
            self._timeout if timeout is None else timeout, self._retries if retries is None else retries,
            open=of.open, safe=of.method == "GET" or of.key, file=of.reply is None, shape=of.reply, page=of.page, to=to,
        ), on_reply)

    def _each(self, query: Any, page: Callable[[Any], Any]) -> Iterator[Any]:
        """Iterates over the rows from a page on. New rows do not shift the pages."""
        one = dict(query or {})
        while True:
            got = page(one)
            yield from got["data"]
            after = got["pagination"]["nextCursor"]
            if not after or after == one.get("startingAfter"):
                return
            one.pop("offset", None)
            one["startingAfter"] = after

    def _request(self, path: str, body: dict[str, str]) -> Any:
        """A request of the session, which has no credentials yet."""
        headers = {**_always("application/json"), "Content-Type": "application/json"}
        return self._repeat(_Prepared(
            "POST", self._base + path, headers, stringify(body).encode(), self._timeout, self._retries, open=True, safe=path == "/auth/token"), None)

    def _repeat(self, p: _Prepared, on_reply: OnReply | None) -> Any:
        """Sends a request until it is answered, and no longer than its retries allow."""
        tries, failures, renewed = 0, 0, False
        while True:
            tries += 1
            bearer = "" if p.open else self._session.bearer()
            try:
                status, headers, value = self._once(p, bearer)
            except (CascadaError, CascadaConnectionError) as failure:
                if _stale(failure) and not renewed and bearer and self._session.forget(bearer):
                    renewed = True  # the service has done nothing
                    continue
                pause = self._pause(failure, p, failures)
                if pause is None:
                    raise
                failures += 1
                time.sleep(pause)
                continue
            if on_reply is not None:
                on_reply(Reply(status, headers.get("X-Request-Id", ""), headers.get("Idempotency-Replayed") == "true", tries, dict(headers.items())))
            return value

    def _pause(self, failure: CascadaError | CascadaConnectionError, p: _Prepared, failures: int) -> float | None:
        """The pause before a repeat in seconds; None if there must be none."""
        if failures >= p.retries or p.begun:
            return None
        least = 0.0
        if isinstance(failure, CascadaError):
            if not (_repeatable(failure) if p.safe else _nothing_done(failure)):
                return None
            least = failure.retry_after
        elif not p.safe:
            return None
        if least > LONGEST_RETRY_AFTER:
            return None
        delay = min(LONGEST_DELAY, self._retry_delay * 2.0**failures)
        return max(least, delay * (0.5 + random.random() / 2))

    def _once(self, p: _Prepared, bearer: str) -> tuple[int, Any, Any]:
        """Sends a request once."""
        key = p.headers.get("Idempotency-Key", "")
        until = time.monotonic() + p.timeout
        headers = {**p.headers, "Authorization": f"Bearer {bearer}"} if bearer else p.headers
        request = urllib.request.Request(p.address, data=p.body, headers=headers, method=p.method)
        try:
            try:
                response = self._opener.open(request, timeout=p.timeout)
            except urllib.error.HTTPError as refused:
                response = refused  # a reply like any other
            with response:
                status, from_ = int(response.status), response.headers
                if not 200 <= status <= 299:
                    raise _refusal(status, str(response.reason), from_, b"".join(_parts(response, until, MAX_REPLY)), key)
                if p.file:
                    return status, from_, self._file(p, response, until)
                return status, from_, parse(b"".join(_parts(response, until, MAX_REPLY)), p.shape, page=p.page)
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise CascadaConnectionError(f"{p.method} {urllib.parse.urlsplit(p.address).path}: {e!r}", key) from e

    def _file(self, p: _Prepared, response: Any, until: float) -> Download:
        kind = response.headers.get("Content-Type", "")
        if p.to is None:
            return Download(kind, b"".join(_parts(response, until, None)))
        for part in _parts(response, until, None):
            p.begun = True
            p.to.write(part)
        return Download(kind, b"")


def _parts(response: Any, until: float, most: int | None) -> Iterator[bytes]:
    """Reads a body. One that ends early is an error, and so is one that comes too slowly."""
    length, size = response.headers.get("Content-Length"), 0
    while part := response.read(_PART):
        size += len(part)
        if most is not None and size > most:
            raise ValueError(f"the reply is larger than {most} bytes")
        if time.monotonic() > until:
            raise TimeoutError("the reply takes too long")
        yield part
    if length is not None and length.isdigit() and size != int(length):
        raise ValueError(f"the reply ended after {size} of {length} bytes")


def _always(accept: str) -> dict[str, str]:
    return {"Accept": accept, "Service-Version": API_VERSION, "User-Agent": f"cascada-python/{VERSION}"}


def _word(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _segment(identifier: str) -> str:
    """Writes an id into a path. "." and ".." would lead to another operation."""
    if not isinstance(identifier, str) or identifier in ("", ".", ".."):
        raise ValueError(f"cascadapay: an id is needed, not {identifier!r}")
    return urllib.parse.quote(identifier, safe="")


def _stale(failure: Exception) -> bool:
    """The service refused the token rather than the call."""
    return isinstance(failure, CascadaError) and failure.code in ("token_expired", "invalid_token")


def _repeatable(e: CascadaError) -> bool:
    """A repeat with the same key may be answered otherwise."""
    if e.replayed:
        return False
    return e.status == 429 or e.status >= 500 or (e.code == "idempotency_conflict" and e.details.get("reason") == "request_in_progress")


def _nothing_done(e: CascadaError) -> bool:
    """The service says that it has done nothing."""
    return e.status == 429 or (e.code == "service_unavailable" and e.details.get("reason") is None)


def _refusal(status: int, reason: str, headers: Any, body: bytes, key: str) -> CascadaError:
    """Reads a reply that is not 2xx."""
    wait, replayed, request = _retry_after(headers), headers.get("Idempotency-Replayed") == "true", headers.get("X-Request-Id", "")
    try:
        error = parse(body, "Envelope")["error"]
        if isinstance(error["code"], str) and error["code"]:
            def word(name: str) -> str:
                value = error.get(name)
                return value if isinstance(value, str) else ""

            return CascadaError(word("message"), status=status, code=word("code"), type=word("type"), param=word("param"), decline_code=word("decline_code"),
                                request_id=word("requestId") or request, details=error.get("details"), retry_after=wait, replayed=replayed, idempotency_key=key)
    except (ValueError, KeyError, TypeError):
        pass  # not the service's
    message = body[:200].decode("utf-8", "replace").strip() or reason
    if 300 <= status <= 399:
        message = "a redirect, which is not followed: it does not come from the service"
    return CascadaError(message, status=status, request_id=request, retry_after=wait, replayed=replayed, idempotency_key=key)


def _retry_after(headers: Any) -> float:
    """The pause that a reply asks for, in seconds. A date counts from the reply's own: this machine's clock may be wrong."""
    text = (headers.get("Retry-After") or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    until, now = _date(text), _date(headers.get("Date") or "")
    return 0.0 if until is None else max(0.0, until - (time.time() if now is None else now))


def _date(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


class _Session:
    """The credential of calls: a raw key, or an access token that is renewed."""

    def __init__(self, core: Core, publishable: str, secret: str) -> None:
        self._core, self._publishable, self._secret = core, publishable, secret
        self._raw = secret if not publishable else publishable if not secret else ""
        self._lock = threading.Lock()
        self._access = self._refresh = ""
        self._renew_at = 0.0  # of time.monotonic(): a clock that is set does not matter

    def bearer(self) -> str:
        if self._raw:
            return self._raw
        with self._lock:
            if not self._access or time.monotonic() >= self._renew_at:
                self._renew()
            return self._access

    def _renew(self) -> None:
        refresh = self._refresh
        # A refresh token works once: after a call with an unknown outcome it must not be sent again, that looks like theft.
        self._access = self._refresh = ""
        if refresh:
            try:
                return self._ask("/auth/refresh", {"refreshToken": refresh})
            except CascadaError as e:
                if e.status != 401:
                    raise
        self._ask("/auth/token", {"apiKey": self._publishable, "secretKey": self._secret})

    def _ask(self, path: str, body: dict[str, str]) -> None:
        asked = time.monotonic()
        tokens = self._core._request(path, body)
        life = float(tokens["expiresIn"])
        self._access, self._refresh = tokens["accessToken"], tokens["refreshToken"]
        self._renew_at = asked + life - min(RENEW_BEFORE, life / 10)

    def forget(self, access: str) -> bool:
        """Makes the next call renew a token that was refused. False if a new one would not help."""
        if self._raw:
            return False
        with self._lock:
            if self._access == access:
                self._renew_at = 0.0
        return True

    def end(self) -> None:
        with self._lock:
            if not self._refresh:
                return
            try:
                self._core._request("/auth/logout", {"refreshToken": self._refresh})
            except CascadaError as e:
                if e.code != "invalid_token":  # it has already ended
                    raise
            self._access = self._refresh = ""
