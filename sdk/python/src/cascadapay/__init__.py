"""Cascada's payment API for Python: see README.md."""
from __future__ import annotations

from . import types
from ._core import DEFAULT_RETRIES, DEFAULT_RETRY_DELAY, DEFAULT_TIMEOUT, Download, Reply
from ._errors import CascadaConnectionError, CascadaError
from ._operations import AsyncOperations, Operations
from .webhooks import WebhookError, read_webhook

__all__ = ["AsyncCascada", "Cascada", "CascadaConnectionError", "CascadaError", "Download", "Reply", "WebhookError", "read_webhook", "types"]


class Cascada(Operations):
    """The API of a Cascada service."""


class AsyncCascada(AsyncOperations):
    """The API of a Cascada service, for programs with asyncio. It has Cascada's parameters, and concurrency: how many calls are made at a time."""

    def __init__(self, url: str, *, secret_key: str = "", publishable_key: str = "", shop_id: str | None = None, timeout: float = DEFAULT_TIMEOUT,
                 retries: int = DEFAULT_RETRIES, retry_delay: float = DEFAULT_RETRY_DELAY, strict: bool = False, concurrency: int = 32) -> None:
        super().__init__(Cascada(url, secret_key=secret_key, publishable_key=publishable_key, shop_id=shop_id, timeout=timeout, retries=retries,
                                 retry_delay=retry_delay, strict=strict), concurrency)
