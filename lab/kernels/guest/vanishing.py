"""Mounts that an agent hardly sees: of a container, of a second each or less, detached with an open file, and beside another mount."""

from collections.abc import Sequence
from pathlib import Path

from lab.kernels.guest.lab import scenario, shell

_AGAIN = "mount -t nfs -o vers=3,proto=tcp,noacl,nosharecache 10.80.2.20:/export/b"
_CONTAINER = "unshare -m --propagation private".split()
_SETTLED_S = 300  # an agent tells calls without a mount after two windows of 120 s at the latest


def mounts() -> None:
    """Run the workloads. The mounts /mnt/a and /mnt/b are there."""
    for place in ("/mnt/c", "/mnt/h"):
        Path(place).mkdir(exist_ok=True)
    inside = "dd if=/dev/zero of=/mnt/h/{} bs=64k count={} conv=fsync && ls -lR /mnt/h >/dev/null"
    hidden = f"{_AGAIN} /mnt/h && {inside.format('hidden', 40)} && sleep 75 && {inside.format('again', 20)} && sleep 12"
    scenario("hidden", [*_CONTAINER, *shell(hidden)])
    scenario(
        "umount",
        shell(
            f"{_AGAIN} /mnt/c && dd if=/dev/zero of=/mnt/c/inside bs=33000 count=20 conv=fsync && umount /mnt/c && "
            f"{_AGAIN} /mnt/c && dd if=/mnt/c/inside of=/dev/null bs=33000 && umount /mnt/c"
        ),
    )
    scenario(
        "short-mounts",
        shell(
            f"for i in $(seq 20); do {_AGAIN} /mnt/c && echo $i > /mnt/c/m$i && cat /mnt/c/m$i >/dev/null && sleep 1 && umount /mnt/c; done"
        ),
    )
    scenario(
        "detached",
        shell(
            f"{_AGAIN} /mnt/c && exec 5>/mnt/c/open && echo a >&5 && sleep 3 && umount -l /mnt/c && "
            "for i in $(seq 20); do head -c 50000 /dev/zero >&5; done; sync; sleep 4; exec 5>&-; sleep 3"
        ),
    )
    scenario(
        "beside",
        shell(
            f"(for i in $(seq 6); do {_AGAIN} /mnt/c && echo $i > /mnt/c/n$i; sleep 5; umount /mnt/c; done) & "
            "for k in $(seq 15); do dd if=/dev/zero of=/mnt/b/beside bs=40k count=5 oflag=direct; sleep 2; done; wait"
        ),
    )


def unaccounted(kinds: Sequence[str]) -> None:
    """Ten mounts that live 0.3 s, and a detached one. Then time for the agents to tell the calls that are on no mount."""
    Path("/mnt/c").mkdir(exist_ok=True)
    scenario(
        "unaccounted",
        shell(
            f"for i in $(seq 10); do {_AGAIN} /mnt/c && echo $i > /mnt/c/v$i && sleep 0.3 && umount /mnt/c; done; "
            f"{_AGAIN} /mnt/c && exec 5>/mnt/c/open && umount -l /mnt/c && "
            f"for i in $(seq 20); do head -c 50000 /dev/zero >&5; done; sync; exec 5>&-; sleep {_SETTLED_S}"
        ),
        kinds=kinds,
    )
