"""Which resources are wanted, by their tags. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TagFilter:
    """Which resources are wanted. A key is that of a freeform tag, or `namespace.key` of a defined one.

    Attributes:
        include: a resource needs all of these tags; a value may end in `*`.
        exclude: a resource may have none of these tags.
    """

    include: Mapping[str, str] = field(default_factory=dict)
    exclude: Mapping[str, str] = field(default_factory=dict)

    def includes(self, tags: Mapping[str, str]) -> bool:
        """Whether a resource with these tags is included, and not excluded."""
        return not self.excludes(tags) and all(_has(tags, key, value) for key, value in self.include.items())

    def excludes(self, tags: Mapping[str, str]) -> bool:
        """Whether a resource with these tags is excluded."""
        return any(_has(tags, key, value) for key, value in self.exclude.items())


def _has(tags: Mapping[str, str], key: str, wanted: str) -> bool:
    found = tags.get(key)
    if found is None:
        return False
    return found.startswith(wanted[:-1]) if wanted.endswith("*") else found == wanted
