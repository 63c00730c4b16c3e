# SPDX-License-Identifier: Apache-2.0
"""The operations of the region: `operations.yml` as pydantic models of query parameters and bodies, with a handler each.

Unknown parameters and fields are refused, as the APIs do.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import GenericAlias
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel, to_snake

_CONFIG = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, validate_by_name=False, allow_inf_nan=False)
_TEXT = Annotated[str, Field(min_length=1)]
_LARGEST = (1 << 63) - 1  # numbers of the APIs are signed, with 64 bits
_TYPES: Mapping[str, Any] = {
    "str": str,
    "text": _TEXT,
    "bool": bool,
    "int": Annotated[int, Field(ge=0, le=_LARGEST)],
    "float": float,
    "time": datetime,
    "count": Annotated[int, Field(ge=1, le=_LARGEST)],
    "limit": Annotated[int, Field(ge=1, le=4096)],
    "tags": dict[str, str],
    "definedTags": dict[str, dict[str, Any]],
    "dimensions": dict[_TEXT, _TEXT],
}


@dataclass(frozen=True, slots=True)
class Call:
    """A checked request."""

    path: Mapping[str, str]  # variable parts of the path
    query: Any  # model of the query parameters
    body: Any  # model of the body; None for none
    headers: Mapping[str, str]  # by lower-case name


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """The answer of a handler."""

    body: Any = None  # JSON value; None for no body
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)  # beyond the usual ones


Handler = Callable[[Call], ApiAnswer]


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """One API operation."""

    name: str  # as the API reference names it, e.g. `ListMountTargets`
    method: str
    path: str  # with the API version, variable parts in braces
    handle: Handler
    query: type[BaseModel]
    body: type[BaseModel] | None  # None for no body
    family: str  # operations of one family share a limit of calls a second; empty where none is documented

    @property
    def pattern(self) -> re.Pattern[str]:
        """Return the expression that matches the path."""
        return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(self.path)))

    @property
    def is_control(self) -> bool:
        """Whether the operation turns a knob of the region, which no real region has."""
        return self.path.startswith("/control")


def read_table(file: Traversable) -> Any:
    """Return the content of a YAML file of this package. The loader in C is ten times as fast, where PyYAML has it."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.read_text(), Loader=loader)  # noqa: S506  # a safe loader either way


class ApiTable:
    """The rows of files in the form of `operations.yml`, and their models. The first path that fits a request wins."""

    def __init__(self, *tables: Traversable) -> None:
        read = [read_table(table) for table in tables]
        self._rows: Mapping[str, Any] = {name: row for document in read for name, row in document["operations"].items()}
        self._objects: Mapping[str, Any] = {name: row for document in read for name, row in document["objects"].items()}
        self._models = cache(self._read_models)  # once, because tests start many regions

    def operations(self, handlers: Mapping[str, Handler]) -> tuple[ApiOperation, ...]:
        """Return the operations that have a handler, in the order of the files."""
        operations = []
        for name, row in self._rows.items():
            if name in handlers:
                method = next(key for key in row if key.isupper())
                query, body = self._models(name)
                path, family = row[method], row.get("family", "")
                operations.append(ApiOperation(name, method, path, handlers[name], query, body, family))
        return tuple(operations)

    def _read_models(self, name: str) -> tuple[type[BaseModel], type[BaseModel] | None]:
        """Return the models of query and body of an operation."""
        row = self._rows[name]
        body = self._model(name, row["body"], row.get("required", ())) if "body" in row else None
        return self._model(name, row.get("query", [])), body

    def _model(
        self, name: str, parts: Sequence[str | Mapping[str, Any]], required: Sequence[str] = ()
    ) -> type[BaseModel]:
        """Return the model of an object that consists of named objects and further fields."""
        fields: dict[str, Any] = {}
        for part in parts:
            for key, written in (self._objects[part] if isinstance(part, str) else part).items():
                field_name = key.removesuffix("!")
                text, _, default = written.partition(" = ") if isinstance(written, str) else (written, "", "")
                kind, value = self._type(text), yaml.safe_load(default) if default else None
                if key.endswith("!") or field_name in required:
                    fields[to_snake(field_name)] = kind, ...
                else:
                    fields[to_snake(field_name)] = kind | None if value is None else kind, value
        made: type[BaseModel] = create_model(name, __config__=_CONFIG, **fields)
        return made

    def _type(self, written: Any) -> Any:
        if isinstance(written, list):
            several = GenericAlias(list, (self._type(written[0]),))
            return Annotated[several, Field(min_length=1)] if written == ["text"] else several
        if written in _TYPES:
            return _TYPES[written]
        if written in self._objects:
            return self._model(written, [written])
        pattern = written.strip("/") if written.startswith("/") else written.replace(" | ", "|")
        return Annotated[str, Field(pattern=f"^(?:{pattern})$")]


DEMO_TABLE = ApiTable(files(__package__).joinpath("operations.yml"))
