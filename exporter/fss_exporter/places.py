"""A YAML document that knows on which line everything stands, and mistakes told by line and place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from fss_exporter.errors import ConfigError

_LONGEST_FILE = 1 << 20  # bytes; a configuration is a few kilobytes, anything larger is another file

_PLAIN = {"tuple_type": "should be a list, as in [a, b]"}  # for what YAML has no word for

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed YAML mapping.

    Attributes:
        source: the file as the operator named it.
        content: what the file says.
        lines: 1-based line of each key and list item, by place.
    """

    source: str
    content: Mapping[str, object]
    lines: Mapping[Place, int]

    def where(self, place: Place) -> str:
        """`line 12: oci.regions[0]: `, as much of it as is known."""
        line = next((self.lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in self.lines), None)
        spelled = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
        return (f"line {line}: " if line else "") + (f"{spelled}: " if spelled else "")


def read_document(path: Path) -> Document:
    """Read one YAML file whose top level is a mapping; an empty file is an empty mapping.

    Raises:
        ConfigError: it cannot be read, is not YAML, names a key twice, or is something else than a mapping.
    """
    source = str(path)
    try:
        raw = path.read_bytes()
        if len(raw) > _LONGEST_FILE:
            raise ConfigError(source, ("larger than 1 MiB; is this the configuration?",))
        text = raw.decode()
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text)
    except OSError as error:
        raise ConfigError(source, (f"cannot be read: {error.strerror}",)) from error
    except UnicodeDecodeError as error:
        raise ConfigError(source, (f"not UTF-8 text (byte {error.start})",)) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError(source, (f"{line}not YAML: {error.problem or error.context}",)) from error
    except yaml.YAMLError as error:
        raise ConfigError(source, (f"not YAML: {error}",)) from error
    lines: dict[Place, int] = {}
    twice = tuple(_walk(node, (), lines, set())) if node is not None else ()
    document = Document(source, content if isinstance(content, dict) else {}, lines)
    if twice:
        raise ConfigError(source, tuple(f"{document.where(place)}given twice" for place in twice))
    if content is not None and not isinstance(content, dict):
        raise ConfigError(source, ("line 1: must be a mapping such as `oci:`",))
    return document


def _walk(node: yaml.Node, place: Place, lines: dict[Place, int], seen: set[int]) -> Iterator[Place]:
    """Note the line of everything below `node`; yield the places of keys that are given twice."""
    if id(node) in seen:  # an alias, which may even contain itself
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines[(*place, index)] = item.start_mark.line + 1
            yield from _walk(item, (*place, index), lines, seen)
    elif isinstance(node, yaml.MappingNode):
        known: set[str] = set()
        for key, value in node.value:
            below = (*place, str(key.value))
            lines[below] = key.start_mark.line + 1
            if str(key.value) in known:
                yield below
            known.add(str(key.value))
            yield from _walk(value, below, lines, seen)


def mistakes_of(error: ValidationError, document: Document, model: type[BaseModel]) -> tuple[str, ...]:
    """One line for each mistake pydantic found, place first, in the order of the file."""
    told = []
    for detail in error.errors(include_url=False, include_input=False):
        place = tuple(part for part in detail["loc"] if part != "[key]")
        message = _PLAIN.get(detail["type"]) or detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
        if detail["type"] == "extra_forbidden":
            message = _unknown_key(str(place[-1]), model, place[:-1])
        told.append((document.lines.get(place, 0), f"{document.where(place)}{message}"))
    return tuple(dict.fromkeys(line for _, line in sorted(told, key=lambda entry: entry[0])))


def _unknown_key(key: str, model: type[BaseModel], place: Place) -> str:
    section = _section(model, place)
    known = sorted(section.model_fields) if section else []
    close = get_close_matches(key, known, 1)
    return "unknown key" + (f"; did you mean {close[0]}?" if close else f"; known here: {', '.join(known)}")


def _section(annotation: Any, place: Place) -> type[BaseModel] | None:  # annotations have no type
    """The model that stands at `place` below `annotation`, if there is one."""
    origin = get_origin(annotation)
    if origin in {Union, UnionType}:
        return next((found for part in get_args(annotation) if (found := _section(part, place))), None)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not place:
            return annotation
        field = annotation.model_fields.get(str(place[0]))
        return _section(field.annotation, place[1:]) if field else None
    return _section(get_args(annotation)[-1], place[1:]) if origin is dict and place else None
