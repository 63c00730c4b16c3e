# SPDX-License-Identifier: Apache-2.0
"""What a killed program has left in tracefs. The kernel goes on counting for it, until somebody removes it."""

import errno
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fss_kernel_counting.processes import thread_tables
from fss_kernel_counting.tracefs import (
    FILES,
    INSTANCES,
    OF_AGENT,
    OF_COMMAND,
    OF_LATENCY,
    OF_SIZES,
    Files,
    Sources,
    Tracefs,
)


class Remains(NamedTuple):
    """The result of a removal, as paths of instances."""

    removed: tuple[Path, ...]
    busy: tuple[Path, ...]  # a program that runs counts in them
    kept: tuple[str, ...]  # the other ones, each with the reason


def instances(places: Sequence[Path], files: Files = FILES) -> list[Path]:
    """Return the instances of this exporter and its commands, in use or not. Unreadable places have none."""
    paths = []
    for path in (place / "instances" / name for place in places for name in INSTANCES):
        with suppress(OSError):
            if files.is_there(path):
                paths.append(path)
    return paths


def remove(sources: Sources) -> Remains:
    """Remove each instance that no running program uses, with its triggers and events."""
    files = sources.files
    removed: list[Path] = []
    busy: list[Path] = []
    kept: list[str] = []

    def is_gone(path: Path) -> bool:
        try:
            files.rmdir(path)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno == errno.EBUSY:
                busy.append(path)
            else:
                kept.append(f"{path}: {error.strerror}")
            return False
        removed.append(path)
        return True

    # debugfs shows the same instances again, so that the second place has nothing left.
    for root in {path.parents[1]: None for path in instances(sources.tracefs, files)}:
        for name in (OF_SIZES, OF_LATENCY):
            is_gone(root / "instances" / name)
        for names in (OF_AGENT, OF_COMMAND):
            # The instance of the looks is in use for as long as the others of its program are.
            if not is_gone(root / "instances" / names.looks):
                continue
            is_gone(root / "instances" / names.births)
            if files.is_there(root / "instances" / names.writers):
                thread_tables.clear_join(Tracefs(root, files), names)
                is_gone(root / "instances" / names.writers)
                with suppress(OSError):
                    files.append(root / "dynamic_events", f"-:{names.joint}")
    return Remains(tuple(removed), tuple(busy), tuple(kept))
