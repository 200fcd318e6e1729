"""Cascada's payment API for Python: see README.md."""
from __future__ import annotations

from typing import Any

from . import types
from ._core import Download, Reply
from ._errors import CascadaConnectionError, CascadaError
from ._operations import AsyncOperations, Operations
from .webhooks import WebhookError, read_webhook

__all__ = ["AsyncCascada", "Cascada", "CascadaConnectionError", "CascadaError", "Download", "Reply", "WebhookError", "read_webhook", "types"]


class Cascada(Operations):
    """The API of a Cascada service."""


class AsyncCascada(AsyncOperations):
    """The API of a Cascada service, for programs with asyncio. It has Cascada's parameters, and concurrency: how many calls are made at a time."""

    def __init__(self, url: str, *, concurrency: int = 32, **config: Any) -> None:
        super().__init__(Cascada(url, **config), concurrency)
