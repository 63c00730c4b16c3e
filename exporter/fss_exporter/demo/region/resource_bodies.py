"""Bodies of the inventory APIs. `resources.yml` has the fields of each model, with attributes of the records to fill in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from typing import Any, Self

import yaml

Body = dict[str, Any]
_MODELS: Mapping[str, Body] = yaml.safe_load(files(__package__).joinpath("resources.yml").read_text())


def rfc3339(epoch_seconds: float) -> str:
    """Return a time as OCI prints it: `2027-01-15T08:00:00.000Z`."""
    moment = datetime.fromtimestamp(epoch_seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def etag(body: object) -> str:
    """Return a version that changes with the body."""
    return sha256(repr(body).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class ResourceBody:
    """A resource in the API's own names."""

    summary: Body  # as lists show the resource
    full: Body  # as Get shows the resource
    hidden: Mapping[str, str] = field(default_factory=dict)  # fields that only filters see

    @classmethod
    def of(
        cls, model: str, record: Any, *further: str, hidden: Mapping[str, str] | None = None, **figures: Any
    ) -> Self:
        """Return the body of a record.

        Args:
            model: model of the API reference, e.g. `MountTarget`.
            record: a record of the tenancy.
            further: models whose fields replace those of `model`.
            hidden: fields that only filters see.
            figures: values of `$name` that are no attributes of the record.
        """
        names = [name for name in (model, *further) if name in _MODELS]
        summary = _filled(_MODELS[f"{model}Summary"], record, figures)
        full = dict(summary)
        for name in names:
            full |= _filled(_MODELS[name], record, figures)
        return cls(summary, full, hidden or {})

    def has(self, name: str, value: object) -> bool:
        """Return whether a filter of a list chooses the resource."""
        return (self.full | dict(self.hidden)).get(name) == value


def _filled(template: Any, record: Any, figures: Mapping[str, Any]) -> Any:
    if isinstance(template, dict):
        return {name: _filled(value, record, figures) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, record, figures) for value in template]
    if isinstance(template, str) and template.startswith("$"):
        name = template[1:]
        return figures[name] if name in figures else getattr(record, name)
    return template
