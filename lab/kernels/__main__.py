"""`make kernels`: boot guests, and print a table of agents beside packets. Needs root, QEMU, mmdebstrap, mke2fs, cpio and Debian's mirror."""

import argparse
import json
import os
import sys
from pathlib import Path

from lab.kernels.boot import boot
from lab.kernels.guest_system import KERNELS, ROOT
from lab.kernels.late import late_replies
from lab.kernels.report import results, summary, table, trials, unaccounted_calls

_PARTS = ("workloads", "late", "outages", "unaccounted", "vanishing", "failures", "weight", "calibration")


def main() -> int:
    """Run the trials of the chosen kernels, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [kernel.name for kernel in KERNELS]
    parser.add_argument("kernels", nargs="*", choices=[*names, []], help=f"of {', '.join(names)}; all by default")
    parser.add_argument("--work", type=Path, default=ROOT / "build/kernels", help="folder for guests and results")
    parser.add_argument("--parts", default=",".join(_PARTS), help="parts of the trial (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="four workloads, and no other part")
    parser.add_argument("--minutes", type=float, default=40, help="longest time of a guest")
    flags = parser.parse_args()
    if os.geteuid():
        sys.exit("make kernels makes the file system of a guest: run it as root")
    parts = ["workloads"] if flags.quick else flags.parts.split(",")
    if unknown := set(parts) - set(_PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}: choose of {', '.join(_PARTS)}")
    wanted = [kernel for kernel in KERNELS if kernel.name in (flags.kernels or names)]
    is_right, by_release = True, {}
    for kernel in wanted:
        folder = boot(kernel, flags.work.resolve(), quick=flags.quick, parts=parts, minutes=flags.minutes)
        measured, tried = list(results(folder)), [*trials(folder), *late_replies(folder), *unaccounted_calls(folder)]
        (folder / "results.json").write_text(json.dumps([result._asdict() for result in measured], indent=1))
        missed = [f"{result.name}: {miss}" for result in measured for miss in result.misses()]
        missed += [f"{trial.trial}, see above" for trial in tried if not trial.holds]
        if not (folder / "ended").exists():
            missed.append(f"the trial broke off: {(folder / 'console.txt').read_text().splitlines()[-1]}")
        release = (folder / "release").read_text()
        lines = [table(kernel.name, measured)] if measured else []
        lines += [f"\n{kernel.name} ({release})", *map(str, tried)]
        lines += [f"missed: {kernel.name} {line}" for line in missed]
        print(*lines, sep="\n", flush=True)
        is_right &= not missed
        if measured:
            by_release[f"{release}, ladder" if kernel.ladder else release] = measured, tried
    if by_release:
        print("", summary(by_release), sep="\n")
    return int(not is_right)


if __name__ == "__main__":
    sys.exit(main())
