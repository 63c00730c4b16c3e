# SPDX-License-Identifier: Apache-2.0
"""Read configuration files in YAML. Every mistake has a line number."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from fss_exporter.errors import ConfigError
from fss_exporter.regular_files import read_regular

_PLAIN = {  # for words of Python in messages of pydantic
    "tuple_type": "should be a list, as in [a, b]",
    "model_type": "should be a mapping, as in {key: value}",
    "dict_type": "should be a mapping, as in {key: value}",
    "path_type": "should be a path",
    "string_type": "should be text: put it in quotes",
    "float_type": "should be a number",
    "float_parsing": "should be a number",
    "string_too_short": "must not be empty",
}

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed YAML mapping."""

    source: str  # the operator's name of the file
    content: Mapping[str, object]  # the parsed mapping
    lines: Mapping[KeyPath, int]  # 1-based line of each key and list item, by place
    is_empty: bool = False  # whether the file has no content, not even `{}`

    def where(self, place: KeyPath) -> str:
        """Return `line 12: oci.regions[0]: `, or the known part."""
        line = next((self.lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in self.lines), None)
        spelled = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
        return (f"line {line}: " if line else "") + (f"{spelled}: " if spelled else "")


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which lets a value like 2026-13-45 raise ValueError or AttributeError."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # PyYAML's signature
        """Return the value of a node. A value that does not fit its tag is a mistake with a line."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, AttributeError, TypeError, OverflowError, LookupError) as error:
            kind = str(node.tag).rpartition(":")[2]
            problem = f"{str(node.value)[:40]!r} is not a valid {kind}"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from error


def read_document(path: Path) -> Document:
    """Read one YAML file with a mapping at the top. An empty file is an empty mapping.

    Raises:
        ConfigError: the file is unreadable, is not YAML, repeats a key, or is not a mapping.
    """
    source = str(path)
    lines: dict[KeyPath, int] = {}
    try:
        loader = _Loader(_text(path))
        node: yaml.Node | None = loader.get_single_node()
        # before the values are made, because PyYAML then copies what `<<` merges into the nodes
        twice = tuple(_walk(node, (), lines, set())) if node is not None else ()
        content = loader.construct_document(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError(source, (f"{line}not YAML: {error.problem or error.context}",)) from error
    except yaml.YAMLError as error:
        raise ConfigError(source, (f"not YAML: {error}",)) from error
    except RecursionError as error:
        raise ConfigError(source, ("nested too deep",)) from error
    document = Document(source, content if isinstance(content, dict) else {}, lines, is_empty=content is None)
    if twice:
        raise ConfigError(source, tuple(f"{document.where(place)}given twice" for place in twice))
    if content is not None and not isinstance(content, dict):
        raise ConfigError(source, (f"line 1: {_PLAIN['model_type']}",))
    return document


def _text(path: Path) -> str:
    try:
        raw = read_regular(path)
    except OSError as error:
        raise ConfigError(str(path), (f"cannot be read: {error.strerror}",)) from error
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), (f"not UTF-8 text (byte {error.start})",)) from error
    if text.startswith("[DEFAULT]"):
        raise ConfigError(str(path), ("line 1: not YAML. A file with the keys of OCI goes to --oci.config-file",))
    return text


def _walk(node: yaml.Node, place: KeyPath, lines: dict[KeyPath, int], seen: set[int]) -> Iterator[KeyPath]:
    """Note the line of everything below `node`. Yield the places of repeated keys."""
    if id(node) in seen:  # an alias, which may even contain itself
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines[(*place, index)] = item.start_mark.line + 1
            yield from _walk(item, (*place, index), lines, seen)
    elif isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            below = (*place, str(key.value))
            lines[below] = key.start_mark.line + 1
            if str(key.value) in keys:
                yield below
            keys.add(str(key.value))
            yield from _walk(value, below, lines, seen)


def mistakes_of(error: ValidationError, document: Document, model: type[BaseModel]) -> tuple[str, ...]:
    """Return a line for each mistake of pydantic, starting with the place, in the order of the file."""
    mistakes = []
    for detail in error.errors(include_url=False, include_input=False):
        place = tuple(part for part in detail["loc"] if part != "[key]")
        if detail["type"] == "invalid_key" or len(place) < len(detail["loc"]):
            place = (*place[:-1], str(place[-1]))
        message = _PLAIN.get(detail["type"]) or detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
        if detail["type"] == "extra_forbidden":
            message = _unknown_key(str(place[-1]), model, place[:-1])
        mistakes.append((document.lines.get(place, 0), f"{document.where(place)}{message}"))
    return tuple(dict.fromkeys(line for _, line in sorted(mistakes, key=lambda entry: entry[0])))


def _unknown_key(key: str, model: type[BaseModel], place: KeyPath) -> str:
    section = _section(model, place)
    names = sorted(section.model_fields) if section else []
    close = get_close_matches(key, names, 1)
    return "unknown key" + (f". Did you mean {close[0]}?" if close else f". Known keys: {', '.join(names)}")


def _section(annotation: Any, place: KeyPath) -> type[BaseModel] | None:  # annotations have no type
    """Return the model at `place` below `annotation`. None without a model."""
    origin = get_origin(annotation)
    if origin in {Union, UnionType}:
        return next((section for part in get_args(annotation) if (section := _section(part, place))), None)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not place:
            return annotation
        field = annotation.model_fields.get(str(place[0]))
        return _section(field.annotation, place[1:]) if field else None
    if origin is tuple and place:
        return _section(get_args(annotation)[0], place[1:])
    return _section(get_args(annotation)[-1], place[1:]) if origin is dict and place else None
