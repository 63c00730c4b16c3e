# SPDX-License-Identifier: Apache-2.0
"""The `process_*` metrics of every Prometheus exporter, read from procfs."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from fss_exporter.catalogue import Family, family

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")


def families(proc: Path = Path("/proc")) -> Iterator[Family]:
    """Yield the families of this process. What cannot be read is absent."""
    try:
        # The name of the process, in brackets, may hold anything.
        stat = (proc / "self/stat").read_text().rpartition(")")[2].split()
        boot = next(line.split()[1] for line in (proc / "stat").read_text().splitlines() if line.startswith("btime "))
        descriptors = len(os.listdir(proc / "self/fd"))  # noqa: PTH208  # pathlib makes an object for each
    except (OSError, StopIteration):
        return
    utime, stime, started, virtual, pages = (int(stat[field]) for field in (11, 12, 19, 20, 21))
    yield family("process_cpu_seconds_total", (((), (utime + stime) / _TICKS),))
    yield family("process_start_time_seconds", (((), int(boot) + started / _TICKS),))
    yield family("process_virtual_memory_bytes", (((), virtual),))
    yield family("process_resident_memory_bytes", (((), pages * _PAGE_BYTES),))
    yield family("process_open_fds", (((), descriptors),))
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY:
        yield family("process_max_fds", (((), most),))
