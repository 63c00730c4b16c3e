"""Boot a guest, wait for its end, and unpack what it hands back."""

import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from lab.kernels.guest_system import GuestKernel, prepare

_RESULTS_BYTES = 1 << 30  # a sparse file
_MEMORY_MIB = 3072


def boot(
    kernel: GuestKernel, work: Path, *, quick: bool, parts: Sequence[str], minutes: float, settings: Sequence[str] = ()
) -> Path:
    """Run the trial of a kernel in a guest. Return the folder with the results. `settings` go to the trial.

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
        *settings,
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
