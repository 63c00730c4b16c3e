"""`make image-check`: both images, as built by `tools/release/image`, inspected and started as they are meant to run.

Not among the default tests: mounting an image takes root, building one takes minutes. `IMAGE_TAG` is the tag of the images,
`IMAGE_BASE` the image they were built on, `TEST_PACKAGES` the folder of pytest for their architecture, where it is another one.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.exposition_text import families_of
from tests.processes import require

import fss_exporter

ROOT = Path(__file__).parents[2]
TAG = os.environ.get("IMAGE_TAG", fss_exporter.__version__)
BASE = os.environ.get("IMAGE_BASE", "localhost/python-debian-amd64")
PACKAGES = os.environ.get("TEST_PACKAGES", sysconfig.get_path("purelib"))
TARGETS = ("agent", "poller")
MEGABYTE = 1_000_000
UNPRIVILEGED = 65532

OCI_TESTS = Path("tests/fss_exporter/oci")
# Those that ask a region over HTTP with the SDK. Half of all took an emulator 25 minutes and 16 GB.
EMULATED_OCI_TESTS = [
    OCI_TESTS / f"test_{name}.py" for name in ("client", "service_metrics", "snapshot_collector", "publisher")
]

# As `docker run --read-only --cap-drop ALL --network none --volume CHECKOUT:/mnt:ro` would, where there is no docker.
ENTER = """
mount --bind "$TREE" "$TREE"
mount -t proc proc "$TREE/proc"
mount --bind /dev "$TREE/dev"
mount --bind "$CHECKOUT" "$TREE/mnt"
mount --bind "$PACKAGES" "$TREE/srv"
mount -o remount,bind,ro "$TREE"
[ -z "$SCRATCH" ] || mount -t tmpfs tmpfs "$TREE/tmp"
exec env -i PATH=/opt/fss-exporter/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1 chroot "$TREE" setpriv \
    --reuid "$RUN_AS" --regid "$RUN_AS" --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs sh -euc "$SCRIPT"
"""
LOOPBACK_UP = 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 1))'

# Until the health check of the image says well, which has its own patience in docker.
SERVED = """
"$@" & server=$!
until {health} 2>/dev/null; do kill -0 $server; sleep 0.1; done
{health}
{then}
kill $server; wait $server
"""

SCRAPED = """python - <<'PY'
import time, urllib.request
page, end = "", time.monotonic() + 60
while time.monotonic() < end and not all(text in page for text in TEXTS):
    time.sleep(0.1)
    page = urllib.request.urlopen("http://127.0.0.1:10949/metrics").read().decode()
print('-- page', page, '-- end', sep='\\n')
PY"""


def scraped(*texts: str) -> str:
    """A script that prints /metrics once all texts stand there. The first collection or poll ends some time after the start."""
    return SCRAPED.replace("TEXTS", repr(texts))


def page_in(printed: str) -> str:
    """The page among what was printed, read strictly first."""
    page = printed.partition("-- page\n")[2].partition("\n-- end\n")[0]
    families_of(page)
    return page


def buildah(*arguments: str) -> str:
    return subprocess.run(
        [require("buildah", "buildah"), *arguments], capture_output=True, text=True, check=True
    ).stdout


@dataclass(frozen=True)
class Image:
    """A built image.

    Attributes:
        name: as in the local storage.
        tree: where its files are mounted.
        config: what a container runtime is told: user, labels, health check.
        size_bytes: uncompressed, with its base.
    """

    name: str
    tree: Path
    config: dict[str, Any]
    size_bytes: int

    def run(
        self,
        script: str,
        *,
        uid: int = UNPRIVILEGED,
        scratch: bool = False,
        host_processes: bool = False,
        timeout_s: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell script inside: read-only, no capability, no network but loopback.

        `scratch` adds a /tmp, `host_processes` is `--pid host`.
        """
        parts = {
            "TREE": str(self.tree),
            "CHECKOUT": str(ROOT),
            "PACKAGES": PACKAGES,
            "SCRATCH": "yes" if scratch else "",
            "RUN_AS": str(uid),
            "SCRIPT": script,
        }
        entered = f"{sys.executable} -c '{LOOPBACK_UP}'\n{ENTER}"
        apart = ("--mount", "--net") if host_processes else ("--mount", "--net", "--pid")
        command = ("unshare", *apart, "--fork", "--kill-child", "bash", "-euc", entered)
        return subprocess.run(
            command, env=os.environ | parts, capture_output=True, text=True, check=False, timeout=timeout_s
        )

    def served(self, command: str, then: str = "", **more: Any) -> str:
        """What a script prints while a command runs inside that the image's own health check finds well."""
        (how, *health) = self.config["Healthcheck"]["Test"]
        assert how == "CMD"
        script = SERVED.format(health=" ".join(health), then=then).replace('"$@"', command)
        done = self.run(script, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def inspected(name: str) -> tuple[dict[str, Any], int]:
    (listed,) = json.loads(buildah("images", "--json", name))
    size = re.fullmatch(r"([\d.]+) (KB|MB|GB)", listed["size"])
    assert size
    unit = {"KB": 1_000, "MB": MEGABYTE, "GB": 1000 * MEGABYTE}[size[2]]
    config = json.loads(buildah("inspect", "--type", "image", name))["Docker"]["config"]
    return config, round(float(size[1]) * unit)


@pytest.fixture(scope="module")
def images() -> Iterator[dict[str, Image]]:
    """Both, mounted."""
    with ExitStack() as undo:
        sizes = {}
        for target in TARGETS:
            name = f"localhost/fss-exporter-{target}:{TAG}"
            container = buildah("from", "--pull-never", name).strip()
            undo.callback(buildah, "rm", container)
            sizes[target] = Image(name, Path(buildah("mount", container).strip()), *inspected(name))
        yield sizes


@pytest.fixture
def agent(images: dict[str, Image]) -> Image:
    return images["agent"]


@pytest.fixture
def poller(images: dict[str, Image]) -> Image:
    return images["poller"]


@pytest.fixture(params=TARGETS)
def image(images: dict[str, Image], request: pytest.FixtureRequest) -> Image:
    return images[request.param]


def test_an_image_runs_as_the_unprivileged_user_by_default(image: Image) -> None:
    assert image.config["User"] == f"{UNPRIVILEGED}:{UNPRIVILEGED}"


def test_its_labels_say_what_it_is_and_which_version(image: Image) -> None:
    labels = image.config["Labels"]
    prefix = "org.opencontainers.image."
    told = {name.removeprefix(prefix) for name in labels if name.startswith(prefix)}
    assert told >= {"title", "description", "licenses", "version", "revision"}
    assert labels[f"{prefix}version"] == fss_exporter.__version__
    assert re.fullmatch(r"[0-9a-f]{7,40}|unknown", labels[f"{prefix}revision"])


def test_it_starts_the_command_on_the_port_it_names(image: Image) -> None:
    assert image.config["Entrypoint"] == ["fss-exporter"]
    assert image.config["Cmd"][0] == "serve"
    assert list(image.config["ExposedPorts"]) == ["10949/tcp"]


def test_the_sizes_are_those_of_the_page(images: dict[str, Image]) -> None:
    """Within a tenth, which other architectures need; the page is where a size that grew is to be explained."""
    _, base = inspected(BASE)
    page = (ROOT / "docs/install.md").read_text()
    for target, image in images.items():
        told = re.search(rf"^\| `fss-exporter-{target}` \| (\d+) MB \|", page, flags=re.MULTILINE)
        assert told
        assert (image.size_bytes - base) / MEGABYTE == pytest.approx(int(told[1]), rel=0.1), target


def test_it_holds_no_pip_no_source_and_no_test(image: Image) -> None:
    assert not (image.tree / "src").exists()
    assert not (image.tree / "build").exists()
    installed = {path.name.partition("-")[0] for path in (image.tree / "opt/fss-exporter").rglob("*.dist-info")}
    assert "fss_exporter" in installed
    assert installed & {"pip", "pytest", "setuptools", "hypothesis"} == set()


def test_the_environment_of_these_tests_is_read_only_and_without_capabilities(image: Image) -> None:
    """Else the tests below would prove nothing."""
    done = image.run("grep -E '^Cap' /proc/self/status; touch /opt/a /tmp/a /etc/a || exit 7")
    assert {line.split()[1] for line in done.stdout.splitlines()} == {"0" * 16}
    assert done.returncode == 7
    assert done.stderr.count("Read-only file system") == 3


def test_the_health_check_tells_a_running_exporter_from_none(image: Image) -> None:
    (_, *health) = image.config["Healthcheck"]["Test"]
    assert image.run(" ".join(health)).returncode == 1
    image.served("fss-exporter serve --log.level=warn")


def test_the_agent_holds_neither_the_sdk_nor_the_demos_server(agent: Image) -> None:
    for module in ("oci", "cryptography"):
        assert f"No module named '{module}'" in agent.run(f"python -c 'import {module}'").stderr
    refused = agent.run("fss-exporter demo")
    assert refused.returncode == 2
    assert "pip install '.[oci]'" in refused.stderr


def test_the_agent_reads_process_1_as_root_without_capabilities(agent: Image) -> None:
    scrape = scraped('fss_collector_success{collector="nfs"} 1.0')
    metrics = page_in(agent.served("fss-exporter serve --log.level=warn", scrape, uid=0, host_processes=True))
    assert 'fss_collector_success{collector="nfs"} 1.0' in metrics


def test_the_poller_polls_the_demo_region_inside(poller: Image) -> None:
    """The region, a poller with what was kept of the SDK, and what a scrape of it shows, on loopback alone."""
    scrape = scraped("\nfss_oci_poll_success{", 'fss_mount_target_info{address="10.', "\nfss_mount_target_iops{")
    metrics = page_in(poller.served("fss-exporter demo --listen-address=127.0.0.1:10949", scrape, scratch=True))
    assert re.search(r"^fss_oci_poll_success\{.*\} 1\.0$", metrics, flags=re.MULTILINE)
    assert "\nfss_mount_target_iops{" in metrics


def test_the_pollers_tests_pass_with_what_was_kept_of_the_sdk(poller: Image) -> None:
    """The tests are the checkout's, pytest that of its environment; exporter and SDK are the image's."""
    tests = EMULATED_OCI_TESTS if "TEST_PACKAGES" in os.environ else [OCI_TESTS]
    done = poller.run(
        f"""cd /mnt; HYPOTHESIS_STORAGE_DIRECTORY=/tmp/hypothesis python - <<'PY'
import sys
import fss_exporter, oci
assert fss_exporter.__file__.startswith('/opt/') and oci.__file__.startswith('/opt/')
sys.path.append('/srv')
import pytest
sys.exit(pytest.main(['-p', 'no:cacheprovider', '-p', 'no:randomly', *{[str(path) for path in tests]}]))
PY""",
        scratch=True,
        timeout_s=1200,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
