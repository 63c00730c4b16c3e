"""Names as the kernel writes them into `/proc`."""

import re

_OCTAL = re.compile(r"\\([0-7]{3})")


def unescape(text: str) -> str:
    r"""A device or mount point without the kernel's octal escapes (`\040` is a space)."""
    if "\\" not in text:
        return text
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)


def decode(raw: bytes) -> str:
    r"""The text of a procfs file; bytes that are not UTF-8 stay visible and distinct as `\xff`."""
    return raw.decode("utf-8", "backslashreplace")


def options(text: str) -> dict[str, str]:
    """A comma list of mount options by name; an option without a value has the empty string."""
    return dict(part.partition("=")[::2] for part in text.split(",") if part)
