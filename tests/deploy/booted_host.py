"""A Debian with a running systemd, in namespaces of its own (tools/check/boot-tree)."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.exposition_text import families_of
from tests.processes import wait_for

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class BootedHost:
    """The file tree of the host, and the number of its process 1."""

    root: Path
    process: int

    def command(self, *command: str) -> list[str]:
        """Return the command line that runs a command on the host."""
        return ["nsenter", "--target", str(self.process), "--all", *command]

    def near(self, *command: str | Path) -> list[str | Path]:
        """Return the command line that runs a command of this machine in the network of the host."""
        return ["nsenter", "--target", str(self.process), "--net", *command]

    def tried(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command, which may fail."""
        return subprocess.run(self.command(*command), capture_output=True, text=True, check=False, timeout=300)

    def run(self, *command: str) -> str:
        """Return the output of a command."""
        done = self.tried(*command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def write(self, path: str, content: str, mode: int = 0o644) -> None:
        """Write a file, with its folders."""
        file = self.root / path.removeprefix("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        file.chmod(mode)

    def is_active(self, unit: str) -> bool:
        """Whether a unit runs."""
        return self.tried("systemctl", "is-active", unit).stdout.strip() == "active"

    def is_enabled(self, unit: str) -> bool:
        """Whether a unit starts at boot."""
        return self.tried("systemctl", "is-enabled", unit).stdout.strip() == "enabled"

    def page(self, url: str = "http://127.0.0.1:10949/metrics", *flags: str) -> str:
        """Return a page of metrics of the host, read strictly first. Empty if nothing answers."""
        command = self.near("curl", "--silent", "--show-error", "--fail", "--max-time", "60", *flags, url)
        page = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        if page:
            families_of(page)
        return page

    def journal(self, unit: str, *flags: str) -> str:
        """Return the lines of the program of a unit, without those of systemd about the unit."""
        matches = (f"_SYSTEMD_UNIT={unit}.service", "_TRANSPORT=stdout")
        return self.run("journalctl", "--no-pager", "--output", "cat", *flags, *matches)


@contextmanager
def booted(root: Path, log: Path) -> Iterator[BootedHost]:
    """Boot a file tree. The system is gone when the block ends."""
    with (
        log.open("wb") as output,
        subprocess.Popen(
            ["unshare", "--net", ROOT / "tools/check/boot-tree", root], stdout=output, stderr=output
        ) as outer,
    ):
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")

        def is_up() -> bool:
            assert outer.poll() is None, log.read_text()
            host = [BootedHost(root, int(child)) for child in children.read_text().split()]
            state = host[0].tried("systemctl", "is-system-running").stdout.strip() if host else ""
            return state in {"running", "degraded"}

        try:
            wait_for(is_up, f"systemd, see {log}")
            yield BootedHost(root, int(children.read_text()))
        finally:
            outer.kill()
