"""Whether a body is what the SDK's own model of it says: attributes known, required ones there, types right."""

import importlib
import inspect
import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Any

_PROPERTY = re.compile(r'@property\s+def (\w+)\(self\):\s+"""(.*?)"""', re.DOTALL)


@cache
def _model(package: str, name: str) -> type:
    return getattr(importlib.import_module(f"oci.{package}.models"), name)  # type: ignore[no-any-return]


@cache
def _required(model: type) -> frozenset[str]:
    """Attributes whose documentation says Required, those of the parent model included."""
    fields = frozenset(
        name for name, text in _PROPERTY.findall(inspect.getsource(model)) if text.lstrip().startswith("**[Required]**")
    )
    parent = model.__mro__[1]
    return fields | _required(parent) if parent is not object else fields


def violations(body: Any, package: str, name: str, at: str = "") -> Iterator[str]:
    """Every way in which a body differs from the model, with its place."""
    model = _model(package, name)
    if hasattr(model, "get_subtype") and isinstance(body, dict):
        model = _model(package, model.get_subtype(body))
    at = at or model.__name__
    if not isinstance(body, dict):
        yield f"{at}: {type(body).__name__} where an object is expected"
        return
    blank = model()
    attributes = {wire: attribute for attribute, wire in blank.attribute_map.items()}
    yield from (f"{at}.{wire}: not an attribute" for wire in body if wire not in attributes)
    for wire, attribute in attributes.items():
        value = body.get(wire)
        if value is None:
            if attribute in _required(model):
                yield f"{at}.{wire}: required"
        else:
            yield from _mistyped(value, blank.swagger_types[attribute], package, f"{at}.{wire}")
            allowed = _allowed(model, attribute)
            if allowed and isinstance(value, str) and value not in allowed:
                yield f"{at}.{wire}: {value!r} is not one of {sorted(allowed)}"


@cache
def _allowed(model: type, attribute: str) -> frozenset[str]:
    prefix = f"{attribute.upper()}_"
    values = {value for name, value in vars(model).items() if name.startswith(prefix) and isinstance(value, str)}
    return frozenset(values)


def _mistyped(value: Any, kind: str, package: str, at: str) -> Iterator[str]:
    plain = {"str": str, "bool": bool, "object": object}
    if kind in plain:
        if not isinstance(value, plain[kind]):
            yield f"{at}: {type(value).__name__} where {kind} is expected"
    elif kind in {"int", "float"}:
        numbers: tuple[type, ...] = (int,) if kind == "int" else (int, float)
        if isinstance(value, bool) or not isinstance(value, numbers):
            yield f"{at}: {type(value).__name__} where {kind} is expected"
    elif kind == "datetime":
        try:
            if datetime.fromisoformat(value).tzinfo is None:
                yield f"{at}: {value!r} has no time zone"
        except (TypeError, ValueError):
            yield f"{at}: {value!r} is not a time"
    elif match := re.fullmatch(r"list\[(.+)\]", kind):
        yield from _each(value, list, match[1], package, at)
    elif match := re.fullmatch(r"dict\(str, (.+)\)", kind):
        yield from _each(value, dict, match[1], package, at)
    else:
        yield from violations(value, package, kind, at)


def _each(value: Any, container: type, kind: str, package: str, at: str) -> Iterator[str]:
    if not isinstance(value, container):
        yield f"{at}: {type(value).__name__} where {container.__name__} is expected"
        return
    items: Any = value.values() if isinstance(value, dict) else value
    for item in items:
        yield from _mistyped(item, kind, package, f"{at}[]")
