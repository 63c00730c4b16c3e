# SPDX-License-Identifier: Apache-2.0
"""What `?` tells: the columns of `top` and its keys. A test holds it to the tables."""

from typing import Final

_COLUMNS: Final = {
    "state": "hanging, failing, slow, near, not known, fine, or no trouble seen by OCI, which sees no hang",
    "fullest ceiling": "the highest share of a ceiling, or of the latency objective. near from warning_ratio of the configuration on",
    "of the ... ceiling": "what a client, mount or operation takes of the fullest ceiling",
    "IOPS": "mount-target I/O operations a second, of the ceiling",
    "read, write": "payload a second, of the ceiling",
    "known by": "source and age. measured and est. OCI are of all clients, clients and one host a part",
    "coverage": "share of the IOPS that the scraped clients cause",
    "since": "how long the state has lasted",
    "latency ms": "of the class that is nearest to its objective",
    "connections": "open connections, of the ceiling",
    "shape": "which ceilings count",
    "address": "what the clients mount",
    "no reply for": "how long requests of a client have waited",
    "failed/s": "operations with an error that ordinary work does not cause",
    "of these": "share of the IOPS in this table",
    "ops/s": "NFS operations a second",
    "RTT ms": "mean time from sending to reply",
    "IOPS bounds": "the least and the most that the operations can have cost",
    "~, about": "the likely value of an estimate",
    "\u2265, at least": "what clients counted. Others can add to it",
    "last": "older than ten minutes. Gone after an hour",
}
_KEYS: Final = {
    "Enter, Escape": "open a mount target, go back",
    "1 to 4": "mounts, clients, operations, processes of the open mount target",
    "s": "next order of the rows",
    "/": "filter by a part of a name",
    "u": "next unit of bytes",
    "p": "hold the picture",
    "?": "this help",
    "q": "quit",
}


def help_text() -> str:
    """Return all columns and keys, a line each."""
    told = {**_COLUMNS, "": "", **_KEYS}
    width = max(map(len, told))
    return "\n".join(f"{name:{width}}  {meaning}".rstrip() for name, meaning in told.items())
