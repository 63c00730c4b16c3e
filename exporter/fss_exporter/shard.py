# SPDX-License-Identifier: Apache-2.0
"""Divide the resources of a tenancy among several pollers."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

_MOST_SHARDS: Final = 100


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several pollers that divide a tenancy: each resource belongs to one of them, by a hash of the OCID."""

    number: int = 1  # from 1 on
    of: int = 1  # number of pollers

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the shard of a text like 2/5.

        Raises:
            ValueError: the text is no shard.
        """
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= _MOST_SHARDS):
            raise ValueError(f"must be a number and how many there are, as in 2/5, at most {_MOST_SHARDS}")
        return cls(int(number), int(of))

    @property
    def is_whole(self) -> bool:
        """Whether there is no other shard."""
        return self.of == 1

    @property
    def is_first(self) -> bool:
        """Whether this shard has what belongs to no mount target, file system or service resource."""
        return self.number == 1

    def holds(self, ocid: str) -> bool:
        """Return whether a resource belongs to this shard. The same for each process, host and version."""
        return self.is_whole or int.from_bytes(sha256(ocid.encode()).digest()[:8], "big") % self.of == self.number - 1

    def __str__(self) -> str:
        """Return the shard as in the configuration: 2/5."""
        return f"{self.number}/{self.of}"


WHOLE: Final = Shard()
