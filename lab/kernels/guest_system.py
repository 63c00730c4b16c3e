"""The disk of a guest: Debian, the product and the modules of a kernel. A small archive for the kernel's start mounts the disk."""

import lzma
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
_GUEST: Final = Path(__file__).parent / "guest"
_SYSTEM: Final = "bookworm"  # its Python runs the product in every guest
_PACKAGES: Final = "busybox-static findutils iproute2 kmod mount netbase nfs-common nfs-kernel-server procps python3 rpcbind tar tcpdump util-linux"
_SLIM: Final = ("man", "doc", "locale", "info")
_DISK_MIB: Final = 1024


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


# The oldest kernel of a supported Debian, each with histogram triggers, and the newest. No kernel before 5.15 that Debian ships has
# histogram triggers, so the bit-by-bit tables run on 6.1, where an agent is told that the kernel refuses `.buckets`.
KERNELS: Final = (
    GuestKernel("5.10", ("bullseye",), counts=False),
    GuestKernel("6.1", ("bookworm",)),
    GuestKernel("6.1-ladder", ("bookworm",), ladder=True),
    GuestKernel("6.12", ("trixie",)),
    GuestKernel("newest", ("trixie", "trixie-backports")),
)

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
_FOR_THE_DISK: Final = ("virtio_pci", "virtio_blk")  # modules that the kernel needs to read its disk


class GuestFiles(NamedTuple):
    """What a guest boots from."""

    image: Path  # of the kernel
    archive: Path  # first file system of the kernel
    disk: Path


def prepare(kernel: GuestKernel, work: Path, *, with_poller: bool) -> GuestFiles:
    """Return the files of a guest, from folders below `work` that are made once. Needs root and Debian's mirror.

    `with_poller` adds what the product needs to read OCI.
    """
    system, files = work / "system", work / kernel.folder
    packages = work / "packages"
    if not packages.exists() or packages.read_text() != _PACKAGES:
        _debian(system, _SYSTEM, "minbase", _PACKAGES.split(), (_SYSTEM,))
        packages.write_text(_PACKAGES)
    if not _image(files):
        target = f"linux-image-cloud-amd64/{kernel.suites[-1]}"
        _debian(files, kernel.suites[0], "extract", (target,), kernel.suites)
    bootable = _image(files)
    if bootable is None:
        raise FileNotFoundError(f"{files}: the package has no image of a kernel")
    image, release = bootable
    _add_modules(system, files, release)
    _add_product(system, with_poller=with_poller)
    return GuestFiles(image, _archive(system, release, work), _disk(system, work))


def _image(files: Path) -> tuple[Path, str] | None:
    """Return image and release of a kernel. Since 7.2 Debian has the image beside the modules."""
    for image in files.glob("boot/vmlinuz-*"):
        return image, image.name.removeprefix("vmlinuz-")
    for image in files.glob("usr/lib/modules/*/vmlinuz"):
        return image, image.parent.name
    return None


def _debian(folder: Path, suite: str, variant: str, packages: Sequence[str], suites: Sequence[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    slim = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _SLIM]
    mirror = _mirror()
    sources = [f"deb {mirror} {name} main" for name in suites]
    include = f"--include={','.join(packages)}"
    quiet = ["--quiet", "--mode=root", "--aptopt=Acquire::Languages none"]
    command = ["mmdebstrap", *quiet, f"--variant={variant}", *slim, include, suite, folder, *sources]
    subprocess.run([str(word) for word in command], check=True)


def _add_modules(system: Path, files: Path, release: str) -> None:
    """Put the modules that a guest needs into its system, with their index."""
    (source,) = (
        place for place in (files / "lib/modules" / release, files / "usr/lib/modules" / release) if place.exists()
    )
    shutil.rmtree(system / "usr/lib/modules", ignore_errors=True)
    target = system / "usr/lib/modules" / release
    for name in _MODULES:
        if (source / "kernel" / name).exists():
            shutil.copytree(source / "kernel" / name, target / "kernel" / name, symlinks=True)
    for name in ("modules.builtin", "modules.order", "modules.builtin.modinfo"):
        shutil.copy(source / name, target)
    subprocess.run(["depmod", "-b", system / "usr", release], check=True)


def _add_product(system: Path, *, with_poller: bool) -> None:
    """Put the exporter, what it imports, and the scripts of the guest into the system."""
    folder = system / "opt/fss"
    libraries = ROOT / "requirements" / ("poller.txt" if with_poller else "agent.txt")
    stamp = folder / "requirements.txt"
    if not stamp.exists() or stamp.read_bytes() != libraries.read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
        wanted = ["--target", folder, "--python-version=3.11", "--only-binary=:all:", "--implementation=cp"]
        platforms = [f"--platform=manylinux{version}_x86_64" for version in ("2014", "_2_28", "_2_34")]
        command = [ROOT / ".venv/bin/python", "-m", "pip", "install", "--quiet", "--no-deps", *wanted, *platforms]
        subprocess.run([*map(str, command), "--no-compile", "-r", str(libraries)], check=True)
        if with_poller:
            subprocess.run([ROOT / ".venv/bin/python", ROOT / "tools/release/prune_sdk.py", folder / "oci"], check=True)
        shutil.copy(libraries, stamp)
    for source in ("exporter/fss_exporter", "exporter/fss_kernel_counting", "toolbox/fss_toolbox"):
        package = Path(source).name
        shutil.rmtree(folder / package, ignore_errors=True)
        shutil.copytree(ROOT / source, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    programs = folder / _GUEST.relative_to(ROOT)
    shutil.rmtree(programs, ignore_errors=True)
    shutil.copytree(_GUEST, programs, ignore=shutil.ignore_patterns("__pycache__"))
    asked = subprocess.run([ROOT / "lab/node-exporter"], check=True, stdout=subprocess.PIPE, text=True)
    shutil.copy(asked.stdout.strip(), programs / "node_exporter")
    (programs / "removal.sh").write_text(_removal())
    # A guest is slow, and each start of the exporter would compile all modules.
    subprocess.run(["chroot", system, "python3", "-m", "compileall", "-q", "/opt/fss"], check=True)


def _removal() -> str:
    """Return the lines of docs/exact-mode.md that remove by hand what a killed agent has left."""
    begin = "```sh\ncd /sys/kernel/tracing/instances\n"
    _, heading, rest = (ROOT / "docs/exact-mode.md").read_text().partition(begin)
    if not heading:
        raise ValueError("docs/exact-mode.md: no lines for the removal by hand")
    return begin.partition("\n")[2] + rest.partition("```")[0]


def _archive(system: Path, release: str, work: Path) -> Path:
    """Return the archive that the kernel unpacks at its start: busybox, and the modules to read the disk, in their order."""
    folder, archive = work / "start", work / "start.cpio"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("bin", "dev", "modules", "root"):
        (folder / name).mkdir(parents=True)
    shutil.copy(system / "bin/busybox", folder / "bin")
    for name in ("sh", "mount", "insmod", "sleep", "switch_root"):
        (folder / "bin" / name).symlink_to("busybox")
    for place, module in enumerate(_needed(system, release)):
        raw = module.read_bytes()
        (folder / f"modules/{place:02}.ko").write_bytes(lzma.decompress(raw) if module.suffix == ".xz" else raw)
    shutil.copy(_GUEST / "start", folder / "init")
    (folder / "init").chmod(0o755)
    names = subprocess.run(["find", ".", "-print0"], cwd=folder, check=True, capture_output=True).stdout
    with archive.open("wb") as out:
        command = ["cpio", "--quiet", "--null", "-o", "-H", "newc"]
        subprocess.run(command, cwd=folder, input=names, stdout=out, check=True)
    return archive


def _needed(system: Path, release: str) -> list[Path]:
    """Return the modules to read the disk, each behind those that it needs. Empty if the kernel has all built in."""
    command = ["modprobe", "-d", str(system / "usr"), "-S", release, "--show-depends", "--all", *_FOR_THE_DISK]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [Path(line.split()[1]) for line in dict.fromkeys(lines) if line.startswith("insmod ")]


def _disk(system: Path, work: Path) -> Path:
    """Return an image of a file system with the whole system."""
    disk = work / "system.ext4"
    disk.unlink(missing_ok=True)
    command = ["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-d", system, disk, f"{_DISK_MIB}M"]
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return disk


def _mirror() -> str:
    """Return the address of the archive from which this host installs Debian's packages."""
    asked = ("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian")
    lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    if not lines:
        raise FileNotFoundError("apt-get indextargets names no archive of Debian: run apt-get update on a Debian host")
    return min(lines, key=len).rstrip("/")
