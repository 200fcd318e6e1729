"""The same calls for programs with asyncio: each is made in a thread, so nothing but the standard library is needed."""
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from ._core import Core

T = TypeVar("T")
Client = TypeVar("Client", bound=Core)


class AsyncCore(Generic[Client]):
    """Makes the calls of a client in threads of its own, at most concurrency at a time.

    A task that is cancelled stops waiting; its request goes on until it is answered or its time is over. As after any network
    error, it is not known then whether it was done: repeat it with the same idempotency_key.
    """

    def __init__(self, client: Client, concurrency: int) -> None:
        self._sync = client
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="cascadapay")

    async def _run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _each(self, query: Any, page: Callable[[Any], Any]) -> AsyncIterator[Any]:
        rows = self._sync._each(query, page)
        end = object()
        while (row := await self._run(lambda: next(rows, end))) is not end:
            yield row

    async def logout(self) -> None:
        """Ends the login of the client's tokens."""
        await self._run(self._sync.logout)

    async def aclose(self) -> None:
        """Ends the threads, after the calls that are under way."""
        await asyncio.to_thread(self._threads.shutdown)

    async def __aenter__(self: T) -> T:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
