"""Decode names as the kernel writes names into `/proc`."""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

_LONGEST_OPTION = 512
_OCTAL = re.compile(r"\\([0-7]{3})")


def unescape(text: str) -> str:
    r"""A device or mount point without the kernel's octal escapes (`\040` is a space)."""
    if "\\" not in text:
        return text
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)


def decode(raw: bytes) -> str:
    r"""The text of a procfs file; bytes that are not UTF-8 stay visible and distinct as `\xff`."""
    return raw.decode("utf-8", "backslashreplace")


@lru_cache(maxsize=256)
def options(text: str) -> Mapping[str, str]:
    """Split a comma list of mount options by name. An option without a value has the empty string.

    Equal lists share one mapping, because every tick reads the lists and the mounts of a host have few different lists.
    """
    found = dict(part.partition("=")[::2] for part in text.split(",") if 0 < len(part) <= _LONGEST_OPTION)
    return MappingProxyType(found)
