# SPDX-License-Identifier: Apache-2.0
"""A JSON object in a file with its checksum as first member, so that a changed bit is no other figure."""

import zlib


def seal(document: bytes) -> bytes:
    """Return the text of a JSON object with the member `crc32` in front. The object has other members."""
    return _sealed(document[1:])


def unseal(content: bytes) -> bytes:
    """Return what was sealed.

    Raises:
        ValueError: the content has no checksum, or is not what was sealed.
    """
    if not content.startswith(_MEMBER):
        raise ValueError("no checksum: the file is damaged or of another version")
    members = content[len(_sealed(b"")) :]
    if content != _sealed(members):
        raise ValueError("damaged: the checksum is that of another content")
    return b"{" + members


_MEMBER = b'{"crc32":"'


def _sealed(members: bytes) -> bytes:
    return b'%b%08x",%b' % (_MEMBER, zlib.crc32(members), members)
