"""uid 0 without a capability reads the host's view of its mounts; that is all the agent asks for."""

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

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
    return subprocess.run((*HOST, *STRIPPED, *command), capture_output=True, text=True, check=True, timeout=30).stdout


@contextmanager
def agent(*flags: str) -> Iterator[tuple[str, list[str]]]:
    """A running agent without capabilities: its metrics, and its log up to then."""
    command = (sys.executable, "-m", "fss_exporter", "serve", "--web.listen-address=127.0.0.1:0", *flags)
    with subprocess.Popen((*HOST, *STRIPPED, *command), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        log = []
        try:
            for line in process.stderr:
                log.append(line)
                if "listening on" in line:
                    url = line.partition("listening on ")[2].strip().strip('"')
                    with urllib.request.urlopen(url) as answer:
                        yield answer.read().decode(), log
                    return
            raise AssertionError("".join(log))
        finally:
            process.kill()  # unshare ignores SIGTERM; its namespace ends with it


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


def test_the_agent_without_capabilities_reads_process_1() -> None:
    with agent() as (metrics, log):
        assert 'fss_collector_success{collector="nfs"} 1.0' in metrics
        assert [line for line in log if "level=warn" in line or "self" in line] == []
