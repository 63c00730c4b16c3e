"""`make unseen`: record the drawn workloads beside packets, in the format of tests/fixtures/unseen-6.12.md. Needs what `make kernels` needs."""

import argparse
import json
import lzma
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from lab.kernels.boot import boot
from lab.kernels.guest_system import KERNELS, ROOT
from lab.kernels.wire import Call, calls

from fss_exporter.model.operations import READ, WRITE

_KERNEL = "6.12"


def recordings(folder: Path) -> list[dict[str, object]]:
    """Return the recordings of a guest with the packets as truth, in the order of their names."""
    return [_recording(place) for place in sorted(folder.glob("*/recording.json"))]


def _recording(place: Path) -> dict[str, object]:
    """Return a recording with its truth.

    Raises:
        ValueError: the capture has other calls than the client counted, so that it proves nothing.
    """
    recorded, sent = json.loads(place.read_text()), calls(place.with_name("packets.pcap"))
    (_, before), *_, (_, after) = recorded["looks"]
    for operation in (READ, WRITE):
        counted = _completed(after, operation) - _completed(before, operation)
        captured = sum(call.operation == operation for call in sent)
        if counted != captured:
            raise ValueError(
                f"{recorded['name']}: {captured} {operation} in the capture, and the client counted {counted}"
            )
    return {**recorded, "truth": _truth(sent)}


def _completed(mountstats: str, operation: str) -> int:
    return sum(map(int, re.findall(rf"^\s+{operation}: (\d+)", mountstats, re.MULTILINE)))


def _truth(sent: Iterable[Call]) -> dict[str, float]:
    costs = {"read_cost_requested": 0.0, "write_cost": 0.0, "meta_cost": 0.0}
    for call in sent:
        if not call.operation.startswith("NLM_"):
            kind = {READ: "read_cost_requested", WRITE: "write_cost"}.get(call.operation, "meta_cost")
            costs[kind] += call.io_operations
    return costs


def main() -> None:
    """Record and pack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=ROOT / "build/kernels", help="folder for guest and results")
    parser.add_argument("--only", default="", help="numbers of workloads with + between them; all by default")
    parser.add_argument("--minutes", type=float, default=90, help="longest time of the guest")
    parser.add_argument("--out", type=Path, default=ROOT / "build/unseen-6.12.json.xz")
    flags = parser.parse_args()
    if os.geteuid():
        sys.exit("make unseen makes the file system of a guest: run it as root")
    (kernel,) = (kernel for kernel in KERNELS if kernel.name == _KERNEL)
    settings = [f"lab.only={flags.only}"] if flags.only else []
    folder = boot(
        kernel, flags.work.resolve(), quick=False, parts=["recordings"], minutes=flags.minutes, settings=settings
    )
    if not (folder / "ended").exists():
        sys.exit(f"the guest broke off: {(folder / 'console.txt').read_text().splitlines()[-1]}")
    recorded = recordings(folder)
    flags.out.write_bytes(lzma.compress(json.dumps(recorded, indent=1).encode()))
    print(f"{len(recorded)} recordings of {(folder / 'release').read_text()} in {flags.out}")


if __name__ == "__main__":
    main()
