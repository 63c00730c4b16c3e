"""The file system of a guest, as an archive for the kernel to unpack into memory: Debian, the product, and a kernel's modules."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
_GUEST: Final = Path(__file__).parent / "guest"
_SYSTEM: Final = "bookworm"  # its Python runs the product in every guest
_PACKAGES: Final = "busybox findutils iproute2 kmod mount netbase nfs-common nfs-kernel-server procps python3 rpcbind tar tcpdump util-linux"
_SLIM: Final = ("man", "doc", "locale", "info")


class GuestKernel(NamedTuple):
    """A kernel that Debian ships."""

    name: str  # for the command line and the table
    suites: tuple[str, ...]  # of Debian; the kernel is in the last
    counts: bool = True  # whether the kernel has histogram triggers
    ladder: bool = False  # whether the agents use the bit-by-bit tables of kernels before 5.15

    @property
    def folder(self) -> str:
        """Name of the folder with the kernel's files."""
        return f"kernel-{self.suites[-1]}"


KERNELS: Final = (
    GuestKernel("5.10", ("bullseye",), counts=False),
    GuestKernel("6.1", ("bookworm",)),
    GuestKernel("6.1-ladder", ("bookworm",), ladder=True),
    GuestKernel("6.12", ("trixie",)),
    GuestKernel("newest", ("trixie", "trixie-backports")),
)
"""The oldest kernel of a supported Debian, each with histogram triggers, and the newest. No kernel before 5.15 that Debian ships has
histogram triggers, so the bit-by-bit tables run on 6.1, where an agent is told that the kernel refuses `.buckets`."""

_MODULES: Final = (
    "fs",
    "net",
    "lib",
    "crypto",
    "arch",
    "drivers/block",
    "drivers/net",
    "drivers/virtio",
    "drivers/char",
)


def prepare(kernel: GuestKernel, work: Path) -> tuple[Path, Path]:
    """Return kernel and archive of a guest, from folders below `work` that are made once. Needs root and Debian's mirror."""
    system, files = work / "system", work / kernel.folder
    if not (system / "usr/sbin/rpc.nfsd").exists():
        _debian(system, _SYSTEM, "minbase", _PACKAGES.split(), (_SYSTEM,))
    if not _image(files):
        target = f"linux-image-cloud-amd64/{kernel.suites[-1]}"
        _debian(files, kernel.suites[0], "extract", (target,), kernel.suites)
    found = _image(files)
    if found is None:
        raise FileNotFoundError(f"{files}: the package has no image of a kernel")
    image, release = found
    archive = work / f"{kernel.name}.cpio"
    with archive.open("wb") as out:
        _append(system, ("proc/*", "sys/*", "dev/*", "var/lib/apt/*", "var/cache/*", "boot/*"), out.fileno())
        for tree in (
            _modules(files, release, work / "modules"),
            _product(work / "product"),
        ):
            _append(tree, (), out.fileno())
    return image, archive


def _image(files: Path) -> tuple[Path, str] | None:
    """Return image and release of a kernel. Since 7.2 Debian has the image beside the modules."""
    for image in files.glob("boot/vmlinuz-*"):
        return image, image.name.removeprefix("vmlinuz-")
    for image in files.glob("usr/lib/modules/*/vmlinuz"):
        return image, image.parent.name
    return None


def _debian(folder: Path, suite: str, variant: str, packages: Sequence[str], suites: Sequence[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    slim = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _SLIM]
    mirror = _mirror()
    sources = [f"deb {mirror} {name} main" for name in suites]
    include = f"--include={','.join(packages)}"
    quiet = ["--quiet", "--mode=root", "--aptopt=Acquire::Languages none"]
    command = ["mmdebstrap", *quiet, f"--variant={variant}", *slim, include, suite, folder, *sources]
    subprocess.run([str(word) for word in command], check=True)


def _modules(files: Path, release: str, folder: Path) -> Path:
    """Return a folder with the modules that a guest needs, and their index."""
    shutil.rmtree(folder, ignore_errors=True)
    (source,) = (
        place for place in (files / "lib/modules" / release, files / "usr/lib/modules" / release) if place.exists()
    )
    target = folder / "usr/lib/modules" / release
    for name in _MODULES:
        if (source / "kernel" / name).exists():
            shutil.copytree(source / "kernel" / name, target / "kernel" / name, symlinks=True)
    for name in ("modules.builtin", "modules.order", "modules.builtin.modinfo"):
        shutil.copy(source / name, target)
    subprocess.run(["depmod", "-b", folder / "usr", release], check=True)
    return folder


def _product(folder: Path) -> Path:
    """Return a folder with the exporter, what it imports, and the scripts of the guest."""
    shutil.rmtree(folder, ignore_errors=True)
    target = folder / "opt/fss"
    for package in ("fss_exporter", "fss_toolbox", "fss_kernel_counting"):
        leave_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "exporter" / package, target / package, ignore=leave_out)
    wanted = ["--target", target, "--python-version=3.11", "--only-binary=:all:", "--implementation=cp"]
    platforms = [
        "--platform=manylinux2014_x86_64",
        "--platform=manylinux_2_28_x86_64",
        "--platform=manylinux_2_34_x86_64",
    ]
    command = [ROOT / ".venv/bin/python", "-m", "pip", "install", "--quiet", "--no-deps", *wanted, *platforms]
    subprocess.run([*map(str, command), "-r", str(ROOT / "requirements/agent.txt")], check=True)
    for path in _GUEST.iterdir():
        if path.is_file():
            shutil.copy(path, target)
    shutil.copy(_GUEST / "init", folder)
    (folder / "init").chmod(0o755)
    return folder


def _append(tree: Path, without: Sequence[str], out: int) -> None:
    """Append a folder to an archive that the kernel unpacks."""
    prune = [word for pattern in without for word in ("-path", f"./{pattern}", "-prune", "-o")]
    names = subprocess.run(["find", ".", *prune, "-print0"], cwd=tree, check=True, capture_output=True).stdout
    subprocess.run(["cpio", "--quiet", "--null", "-o", "-H", "newc"], cwd=tree, input=names, stdout=out, check=True)


def _mirror() -> str:
    """Return the address of the archive from which this host installs Debian's packages."""
    asked = ("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian")
    lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    if not lines:
        raise FileNotFoundError("apt-get indextargets names no archive of Debian: run apt-get update on a Debian host")
    return min(lines, key=len).rstrip("/")
