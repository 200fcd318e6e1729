"""How calls fail."""
from __future__ import annotations

from typing import Any, cast

from .types import ErrorCode, ErrorDetails, FieldIssue


class CascadaError(Exception):
    """The service refused the call. Switch on code, never on the message."""

    def __init__(self, message: str, *, status: int, code: ErrorCode = "", type: str = "", param: str = "", decline_code: str = "",
                 request_id: str = "", details: Any = None, retry_after: float = 0, replayed: bool = False, idempotency_key: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        """HTTP status."""
        self.code = code
        """The stable name of the error; "" if the reply is not the service's but, for example, a proxy's."""
        self.type = type
        self.param = param
        """The offending field, "" if it is not one."""
        self.decline_code = decline_code
        """Why the card's issuer declined, "" if it did not."""
        self.request_id = request_id
        """For support."""
        self.details = cast(ErrorDetails, details if isinstance(details, dict) else {})
        """Data for programs. A declined payment exists all the same: details["transactionId"] names it."""
        self.retry_after = retry_after
        """How long to wait, in seconds; 0 if the reply does not say."""
        self.replayed = replayed
        """The reply is the stored one to an earlier request with the same key."""
        self.idempotency_key = idempotency_key
        """The key that was sent, "" for none: a repeat with it is never done twice."""

    @property
    def issues(self) -> list[FieldIssue]:
        """What is wrong with each field of the request."""
        return self.details.get("issues", [])

    @property
    def help_url(self) -> str:
        """The page that explains the code, "" if there is none."""
        return self.details.get("helpUrl", "")

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.message} ({self.request_id})"


class CascadaConnectionError(Exception):
    """No whole reply came: the network failed, the time was over, or the reply could not be read.

    It is not known whether the service did what was requested.
    """

    def __init__(self, message: str, idempotency_key: str) -> None:
        super().__init__(message)
        self.idempotency_key = idempotency_key
        """The key that was sent, "" for none: a repeat with it is never done twice."""
