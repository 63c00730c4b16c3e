"""`make kernels`: boot guests, and print a table of agents beside packets. Needs root, QEMU, mmdebstrap, cpio and Debian's mirror."""

import argparse
import os
import subprocess
import sys
import tarfile
from pathlib import Path

from tools.kernels.guest_system import KERNELS, ROOT, GuestKernel, prepare
from tools.kernels.report import results, table, trials

_RESULTS_BYTES = 1 << 30  # a sparse file
_MEMORY_MIB = 3072


def boot(kernel: GuestKernel, work: Path, *, quick: bool, minutes: float) -> Path:
    """Run the trial of a kernel in a guest. Return the folder with the results.

    Raises:
        RuntimeError: the guest handed nothing back.
    """
    image, archive = prepare(kernel, work)
    disk, out = work / f"{kernel.name}.disk", work / "results" / kernel.name
    with disk.open("wb") as file:
        file.truncate(_RESULTS_BYTES)
    options = ["console=ttyS0", "panic=1", "loglevel=4", "no_timer_check", "mitigations=off", "rdinit=/init"]
    options += [
        f"lab.{name}"
        for name, is_set in (("ladder", kernel.ladder), ("quick", quick), ("no-counting", not kernel.counts))
        if is_set
    ]
    machine = [
        "-accel",
        "tcg,thread=multi",
        "-cpu",
        "max",
        "-smp",
        "2",
        "-m",
        str(_MEMORY_MIB),
        "-nographic",
        "-no-reboot",
        "-nic",
        "none",
    ]
    files = ["-kernel", image, "-initrd", archive, "-drive", f"file={disk},if=virtio,format=raw,cache=unsafe"]
    command = [
        "nice",
        "-n",
        "10",
        "timeout",
        f"{minutes}m",
        "qemu-system-x86_64",
        *machine,
        *files,
        "-append",
        " ".join(options),
    ]
    out.mkdir(parents=True, exist_ok=True)
    with (work / f"{kernel.name}.serial.txt").open("w") as serial:
        subprocess.run(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=serial,
            stderr=subprocess.STDOUT,
            check=False,
        )
    try:
        with tarfile.open(disk) as archive_of_results:
            archive_of_results.extractall(out, filter="data")
    except tarfile.TarError as error:
        raise RuntimeError(f"{kernel.name}: the guest handed nothing back, see {serial.name}") from error
    disk.unlink()
    return out


def main() -> int:
    """Run the trials of the chosen kernels, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [kernel.name for kernel in KERNELS]
    parser.add_argument("kernels", nargs="*", choices=[*names, []], help=f"of {', '.join(names)}; all by default")
    parser.add_argument("--work", type=Path, default=ROOT / "build/kernels", help="folder for guests and results")
    parser.add_argument("--quick", action="store_true", help="four workloads, and no failures")
    parser.add_argument("--minutes", type=float, default=40, help="longest time of a guest")
    flags = parser.parse_args()
    if os.geteuid():
        sys.exit("make kernels makes the file system of a guest: run it as root")
    wanted = [kernel for kernel in KERNELS if kernel.name in (flags.kernels or names)]
    folders = {
        kernel.name: boot(kernel, flags.work.resolve(), quick=flags.quick, minutes=flags.minutes) for kernel in wanted
    }
    found = {name: list(results(folder)) for name, folder in folders.items()}
    print(table(found))
    for name, folder in folders.items():
        print(f"\n{name} ({(folder / 'release').read_text()})", *trials(folder), sep="\n")
    return int(not all(one.bounds_hold for many in found.values() for one in many if one.name != "remount"))


if __name__ == "__main__":
    sys.exit(main())
