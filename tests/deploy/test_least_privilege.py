"""uid 0 without a capability reads the host's view of its mounts; that is all the agent asks for."""

import re
import subprocess
from pathlib import Path

from tests.processes import get, process, require, wait_for

# A PID namespace whose process 1 keeps all capabilities, as a host's has, and a child of the same uid that has none in
# any set, cannot regain one, and sees the world through a user namespace, as PrivateUsers= makes it.
HOST = (
    "unshare",
    "--user",
    "--map-root-user",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
    "sh",
    "-c",
    '"$@"; exit $?',
    "host",
)
STRIPPED = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")


def stripped(*command: str) -> str:
    return subprocess.run((*HOST, *STRIPPED, *command), capture_output=True, text=True, check=True, timeout=120).stdout


def test_the_environment_of_this_test_has_no_capability() -> None:
    """Else the tests below would prove nothing."""
    sets = [line.split() for line in stripped("cat", "/proc/self/status").splitlines() if line.startswith("Cap")]
    assert len(sets) == 5
    assert {value for _, value in sets} == {"0" * 16}
    assert stripped("id", "-u").strip() == "0"


def test_what_is_closed_to_others_is_open_to_the_owner() -> None:
    mode, owner = stripped("stat", "-c", "%a %u", "/proc/1/mountstats").split()
    assert (mode, owner) == ("400", "0")
    assert "device proc mounted on /proc" in stripped("cat", "/proc/1/mountstats")


def test_the_agent_without_capabilities_reads_process_1(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    # As under systemd, the agent has a mount namespace of its own. Without one, process 1 would be that of its own container.
    command = [
        *HOST,
        "unshare",
        "--mount",
        *STRIPPED,
        require("fss-exporter", "this project"),
        "serve",
        "--web.listen-address=127.0.0.1:0",
    ]
    with process(command, log) as running:
        url, *_ = wait_for(
            lambda: re.findall(r"http://[\d.:]+/metrics", log.read_text()), f"a listening agent, see {log}"
        )
        wait_for(lambda: 'fss_collector_success{collector="nfs"} 1.0' in get(url), "the first reading")
        running.kill()  # unshare ignores SIGTERM; its namespace ends with it
    assert "level=warn" not in log.read_text()
