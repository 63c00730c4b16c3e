"""`make kernels`: boot guests, and print a table of agents beside packets. Needs root, QEMU, mmdebstrap, mke2fs, cpio and Debian's mirror."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tools.kernels.guest_system import KERNELS, ROOT, GuestKernel, prepare
from tools.kernels.report import results, summary, table, trials

_RESULTS_BYTES = 1 << 30  # a sparse file
_MEMORY_MIB = 3072
_PARTS = ("workloads", "failures", "weight", "calibration")


def boot(kernel: GuestKernel, work: Path, *, quick: bool, parts: Sequence[str], minutes: float) -> Path:
    """Run the trial of a kernel in a guest. Return the folder with the results.

    Raises:
        RuntimeError: the guest handed nothing back.
    """
    files = prepare(kernel, work, with_poller="calibration" in parts)
    results_disk, out = work / f"{kernel.name}.disk", work / "results" / kernel.name
    with results_disk.open("wb") as file:
        file.truncate(_RESULTS_BYTES)
    options = [
        "console=ttyS0",
        "panic=1",
        "loglevel=4",
        "no_timer_check",
        "mitigations=off",
        f"lab.parts={','.join(parts)}",
    ]
    options += [
        f"lab.{name}"
        for name, is_set in (("ladder", kernel.ladder), ("quick", quick), ("no-counting", not kernel.counts))
        if is_set
    ]
    machine = (
        f"-accel tcg,thread=single -icount shift=0,sleep=off -cpu max -m {_MEMORY_MIB} -nographic -no-reboot -nic none"
    )
    drives = [
        f"file={disk},if=virtio,format=raw,{kept}"
        for disk, kept in ((files.disk, "snapshot=on"), (results_disk, "cache=unsafe"))
    ]
    command = ["timeout", f"{minutes}m", "qemu-system-x86_64", *machine.split()]
    command += ["-kernel", str(files.image), "-initrd", str(files.archive), "-append", " ".join(options)]
    command += [word for drive in drives for word in ("-drive", drive)]
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with (work / f"{kernel.name}.serial.txt").open("w") as serial:
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=serial,
            stderr=subprocess.STDOUT,
            check=False,
        )
    with tarfile.open(results_disk, "r:") as archive_of_results:
        archive_of_results.extractall(out, filter="data")
    if not (out / "release").exists():
        raise RuntimeError(f"{kernel.name}: the guest handed nothing back, see {serial.name}")
    results_disk.unlink()
    return out


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
        measured, tried = list(results(folder)), list(trials(folder))
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
