# SPDX-License-Identifier: Apache-2.0
"""Select the compartments, tags and services that the poller watches, and the scopes of the queries. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from fss_exporter.oci.cloud_client import Compartment
from fss_exporter.oci.metric_table import DISCOVERED
from fss_exporter.ocid import looks_like_ocid
from fss_exporter.settings import Settings
from fss_exporter.shard import WHOLE, Shard


@dataclass(frozen=True, slots=True)
class TagFilter:
    """Select resources by tag. A key is a freeform tag, or `namespace.key` of a defined tag."""

    # a resource needs all of these tags; a value may end in `*`
    include: Mapping[str, str] = field(default_factory=dict)
    exclude: Mapping[str, str] = field(default_factory=dict)  # a resource may have none of these tags

    def includes(self, tags: Mapping[str, str]) -> bool:
        """Return whether a resource with these tags is included, and not excluded."""
        return not self.excludes(tags) and all(_has(tags, key, value) for key, value in self.include.items())

    def excludes(self, tags: Mapping[str, str]) -> bool:
        """Return whether a resource with these tags is excluded."""
        return any(_has(tags, key, value) for key, value in self.exclude.items())

    def without_match(self, every: Collection[Mapping[str, str]]) -> list[str]:
        """Return a line for each tag that none of the listed resources has. Empty without a resource."""
        return [
            f"oci.{name}.tags: none of {len(every)} mount targets has {key}: {value}"
            for name, wanted in (("include", self.include), ("exclude", self.exclude))
            for key, value in wanted.items()
            if every and not any(_has(tags, key, value) for tags in every)
        ]


def unused_tags(keys: Iterable[str], every: Collection[Mapping[str, str]]) -> list[str]:
    """Return a line for each tag of `oci.tags_as_labels` that none of the listed resources has. Empty without a resource."""
    unused = (key for key in keys if every and all(tag_of(tags, key) is None for tags in every))
    return [f"oci.tags_as_labels: none of {len(every)} mount targets and file systems has {key}" for key in unused]


def defined_tag(key: str) -> str:
    """Return the key of a defined tag `namespace.key` among the tags of a resource. OCI compares it without case, and freeform keys with case."""
    return f"defined tag {key.lower()}"


def tag_of(tags: Mapping[str, str], key: str) -> str | None:
    """Return the value of a tag, which is a freeform tag or `namespace.key` of a defined one. None without the tag."""
    return tags.get(key, tags.get(defined_tag(key)))


def _has(tags: Mapping[str, str], key: str, wanted: str) -> bool:
    value = tag_of(tags, key)
    if value is None:
        return False
    return value.startswith(wanted[:-1]) if wanted.endswith("*") else value == wanted


ROOT: Final = "root"  # How the tenancy's own compartment is called


class CompartmentTree:
    """The compartments of a tenancy: its own, which is called `root`, and those below it as far as OCI lists them."""

    def __init__(self, tenancy_id: str, listed: Iterable[Compartment]) -> None:
        self._names = {tenancy_id: ROOT}
        self._parents: dict[str, str] = {}
        for compartment in listed:
            self._names[compartment.id] = compartment.name
            self._parents[compartment.id] = compartment.parent_id

    def choose(
        self, wanted: Iterable[str], *, in_subtree: bool = False, is_listed: bool = True
    ) -> tuple[Mapping[str, str], list[str]]:
        """Return the wanted compartments (OCIDs, names or paths such as `storage:batch`, none for all), and perhaps those below them.

        Without a listing of the tenancy (`is_listed`) no name is known, and none is wrong.

        Return names by OCID, the OCID for an unknown name, and a line for each compartment that cannot be made out.
        """
        chosen: dict[str, str] = {}
        mistakes: list[str] = []
        for name in wanted:
            meant = [name] if looks_like_ocid(name) else [key for key in self._names if self._is_called(key, name)]
            if len(meant) == 1:
                chosen[meant[0]] = self._names.get(meant[0], meant[0])
            elif meant:
                paths = ", ".join(sorted(map(self._path, meant)))
                mistakes.append(
                    f"oci.compartments: {len(meant)} compartments are called {name!r}: {paths}. Give the path or the OCID"
                )
            elif not is_listed:
                mistakes.append(
                    f"oci.compartments: {name!r} cannot be looked up, because ListCompartments has failed. Give the OCID"
                )
            else:
                mistakes.append(
                    f"oci.compartments: no compartment is called {name!r}, or the policy hides the compartment. Give the OCID"
                )
        if in_subtree:
            chosen |= {key: name for key, name in self._names.items() if not chosen.keys().isdisjoint(self._line(key))}
        return chosen or ({} if mistakes else self._names), mistakes

    def _is_called(self, ocid: str, name: str) -> bool:
        """Return whether a compartment has a name, or a path that may begin at the root."""
        if ":" not in name:
            return self._names[ocid] == name
        return self._path(ocid) == f"{ROOT}:{name.removeprefix(f'{ROOT}:')}"

    def _path(self, ocid: str) -> str:
        return ":".join(self._names[key] for key in reversed(self._line(ocid)))

    def _line(self, ocid: str) -> list[str]:
        """Return the OCIDs from a compartment up to the root."""
        line = [ocid]
        while (parent := self._parents.get(line[-1])) in self._names and parent not in line:
            line.append(parent)
        return line


@dataclass(frozen=True, slots=True)
class InventorySelection:
    """The resources to list."""

    compartments: tuple[str, ...] = ()  # OCIDs, names or paths; empty for all of the tenancy
    in_subtree: bool = False  # whether the compartments below those are wanted as well
    tags: TagFilter = field(default_factory=TagFilter)  # tags of the wanted resources
    services: tuple[str, ...] = ()  # other storage services to list as well
    optional_services: tuple[str, ...] = ()  # services that may be missing or forbidden without a failure
    tags_as_labels: tuple[str, ...] = ()  # keys of tags that become labels
    shard: Shard = WHOLE  # shard whose resources are asked for and exported. All are listed

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return what the settings select."""
        oci = settings.oci
        services, optional = (DISCOVERED, DISCOVERED) if oci.services is None else (oci.services, ())
        tags = TagFilter(oci.include.tags, oci.exclude.tags)
        shard = Shard.parse(oci.shard)
        return cls(oci.compartments, oci.in_subtree, tags, services, optional, oci.tags_as_labels, shard)
