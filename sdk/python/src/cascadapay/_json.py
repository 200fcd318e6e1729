"""JSON without loss: an amount is a Decimal, whether it is written as 25 or as 25.50."""
from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from ._shapes import EVENT_OBJECTS, SHAPES

_AMOUNT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_INTEGER = re.compile(r"-?[0-9]{1,4000}")
_MOST_DIGITS = 60


class _Numeral(str):
    """A number of a JSON text, before it is known what it is of."""


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def parse(text: bytes, shape: str | None = None, *, page: bool = False) -> Any:
    """Reads a JSON text of a shape, a page of it with page. ValueError."""
    try:
        value = json.loads(text.decode("utf-8"), parse_int=_Numeral, parse_float=_Numeral, parse_constant=_refuse)
        if page and isinstance(value, dict):
            return {name: _shaped(field, shape if name == "data" else None) for name, field in value.items()}
        return _shaped(value, shape)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _shaped(value: Any, shape: str | None) -> Any:
    if isinstance(value, _Numeral):
        return int(value) if shape != "n" and _INTEGER.fullmatch(value) else Decimal(str(value))
    if isinstance(value, list):
        return [_shaped(one, shape) for one in value]
    if not isinstance(value, dict):
        return value
    if shape == "Event":
        return _event(value)
    fields = SHAPES.get(shape or "", {})
    return {name: _shaped(field, fields.get(name)) for name, field in value.items()}


def _event(value: dict[str, Any]) -> dict[str, Any]:
    """The data of an event has an object, and its type says of which shape."""
    made = {name: _shaped(field, None) for name, field in value.items() if name != "data"}
    data, of = value.get("data"), value.get("type")
    if isinstance(data, dict):
        data = {name: _shaped(field, EVENT_OBJECTS.get(str(of)) if name == "object" else None) for name, field in data.items()}
    if "data" in value:
        made["data"] = data
    return made


def stringify(value: Any, shape: str | None = None) -> str:
    """Writes a body of a shape. An amount becomes a JSON number with its digits as they are. TypeError, ValueError."""
    if shape == "n" and value is not None:
        return amount(value)
    if isinstance(value, dict):
        fields = SHAPES.get(shape or "", {})
        return "{" + ",".join(f"{_plain(str(name))}:{stringify(field, fields.get(name))}" for name, field in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(stringify(one, shape) for one in value) + "]"
    if isinstance(value, Decimal):
        return amount(value)
    if value is None or isinstance(value, (str, int)):
        return _plain(value)
    raise TypeError(f"{value!r} cannot be sent: an amount is a Decimal, an int or digits, never a float")


def _plain(value: str | int | None) -> str:
    return json.dumps(value, ensure_ascii=False)


def amount(value: Any) -> str:
    """Returns the digits of an amount."""
    if isinstance(value, Decimal):
        if not value.is_finite() or abs(value.adjusted()) > _MOST_DIGITS:
            raise ValueError(f"{value} is not an amount")
        return format(value, "f")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise TypeError(f"an amount is a Decimal, an int or digits, not {value!r}: a float has no exact value")
    if not _AMOUNT.fullmatch(value):
        raise ValueError(f'an amount is the digits of a decimal number, such as "25.50", not {value!r}')
    return value
