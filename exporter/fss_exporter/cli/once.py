# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter once`: one scrape of this host's NFS counters without a listener, on stdout or into a file."""

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
from prometheus_client import PROCESS_COLLECTOR, generate_latest

from fss_exporter.catalogue.prepared import Collected
from fss_exporter.cli.flags import NEW_FILE, ConfigFlags
from fss_exporter.cli.nfs_flags import MountFlags
from fss_exporter.cli.terminal import complain, end_by_signals, writing
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.flag_records import SYSFS, flag, takes
from fss_exporter.instance_metadata import read_instance_metadata
from fss_exporter.nfs import kept_state
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.fstab import FstabWatch, read_fstab
from fss_exporter.nfs.instance_network import InstanceNetwork
from fss_exporter.nfs.mount_settings import mount_settings
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.procfs import Procfs, RawTexts
from fss_exporter.nfs.superblocks import NO_READING, Reading, join
from fss_exporter.nfs.ticker import Ticker
from fss_exporter.web.collecting import Collectors
from fss_exporter.whole_files import replace_whole

_DAMAGED = "damaged, or of another version. The counters begin at 0, and this run replaces the file"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_OUTPUT_MODE, _STATE_MODE = 0o644, 0o600  # the state has texts of the kernel that only root may read
_LARGEST_BYTES = 1 << 28  # the state of 2,000 mounts has some ten million. A larger file is damaged
_METADATA_SECONDS = 2.0
_LONGEST_PAUSE_SECONDS = 90.0  # between two runs of cron, which come each minute

# Figures of the last seconds, which one reading cannot know. They have no sample here.
_NEED_SECONDS = (
    "fss_client_unanswered_seconds",
    "fss_client_peak_estimated_iops",
    "fss_client_address_state",
    "fss_client_address_state_age_seconds",
    "fss_client_address_state_evidence_ratio",
)

_TURN_SECONDS = 30.0  # that a run waits for another. Every user who may read the directory can lock it


@dataclass(frozen=True, kw_only=True)
class OnceFlags(MountFlags, ConfigFlags):
    """The flags of `once`."""

    out: Path | None = flag(
        "--out",
        "Replace FILE as a whole, and go on counting where the last run ended (kept in FILE.state).",
        type=NEW_FILE,
        metavar="FILE.prom",
    )


@click.command()
@takes(OnceFlags)
def once(flags: OnceFlags) -> None:
    """Print the metrics of this host's NFS mounts once, for the textfile collector, cron, or a host without listeners.

    On standard output, counters start at each mount. With --out, counters continue from run to run, as with `serve`.
    """
    flags.check()
    run, output = _Run(flags), flags.out
    if output is None:
        click.echo(run.since_mounts(), nl=False)
        return
    state = output.parent / f"{output.name}.state"
    for path in (output, state):
        _check_replaceable(path)
    end_by_signals()  # a temporary file must not stay
    with _only_run(output):
        text = run.since_last_run(state)
        for path, content, mode in ((state, run.state(), _STATE_MODE), (output, text, _OUTPUT_MODE)):
            with writing(path):
                replace_whole(path, content.encode(), mode)


class _Run:
    """One reading of the host, as metrics and as the state for the next run."""

    def __init__(self, flags: OnceFlags) -> None:
        self._flags = flags
        self._mounts = mounts = mount_settings(flags.configuration())
        self._source = Procfs(
            flags.procfs, flags.pid, mounts.address_map, mounts.services, flags.wanted_mounts, keep_texts=True
        )
        self._accounts = Accounts(
            most_mounts=flags.max_mounts, overrides=mounts.overrides, longest_pause_s=_LONGEST_PAUSE_SECONDS
        )
        self._network = flags.network or _region(flags.metadata_place(SYSFS))
        self._boot_id = _text_or_none(_BOOT_ID) or ""
        self._at = 0.0

    def since_mounts(self) -> str:
        """Return the metrics, counted from each mount on."""
        reading = self._source.read_in_time()
        self._accounts.apply(NO_READING, 0.0)
        oldest = max((superblock.record.age_s for superblock in reading.superblocks), default=0)
        return self._metrics(reading, oldest + 1.0, zero_answers=0)

    def since_last_run(self, state: Path) -> str:
        """Return the metrics, counted from the first run on."""
        if (text := _text_or_none(state)) is not None:
            try:
                last = kept_state.load(text)
            except ValueError:
                complain("fss-exporter once", f"{state}: {_DAMAGED}")
            else:
                same_boot = last.boot_id == self._boot_id
                reading, costs = self._reading_of(last.texts), self._mounts.overrides.table
                kept_state.restore(self._accounts, last, reading, costs, same_boot=same_boot)
                self._network = self._network or last.network
        at = time.monotonic()
        return self._metrics(self._source.read_in_time(), at, zero_answers=1)

    def state(self) -> str:
        """Return the state for the next run."""
        assert self._source.texts is not None  # noqa: S101  # there has been a reading
        accounts, texts = self._accounts, self._source.texts
        totals, costs = (accounts.mounts, accounts.addresses, accounts.wire), self._mounts.overrides.table
        return kept_state.dump(kept_state.LastRun(self._boot_id, self._at, self._network, costs, texts, *totals))

    def _metrics(self, reading: Reading, at: float, zero_answers: int) -> str:
        self._at = at
        ticker = Ticker(lambda: reading, 1.0, lambda: at, accounts=self._accounts)
        ticker.tick()
        if not ticker.loop.heartbeat.success:
            raise SourceError("the counters could not be added up: the lines before this one say why")
        flags = self._flags
        fstab = FstabWatch(partial(read_fstab, flags.procfs, flags.pid, flags.fstab, flags.wanted_mounts))
        fstab.look()
        collector = NfsCollector(
            ticker,
            fstab=fstab,
            by_operation=flags.operations == "all",
            zero_answers=zero_answers,
            network=InstanceNetwork("", self._network or None),
        )
        families = Collectors({"nfs": collector}, (ticker.loop,), lambda: at).collect()
        at_once = [*(family for family in families if family.name not in _NEED_SECONDS), *PROCESS_COLLECTOR.collect()]
        return generate_latest(Collected(at_once)).decode()

    def _reading_of(self, texts: RawTexts) -> Reading:
        mounts = parse_mountinfo(texts.mountinfo, self._flags.wanted_mounts)
        return join(parse_mountstats(texts.mountstats), mounts, self._mounts.address_map, self._mounts.services)


def _region(metadata_url: str) -> str:
    """Return the region of this instance. Empty without an answer, for example outside of OCI."""
    metadata = read_instance_metadata(metadata_url, _METADATA_SECONDS) if metadata_url else None
    return metadata.region if metadata else ""


def _text_or_none(path: Path) -> str | None:
    try:
        is_too_large = path.stat().st_size > _LARGEST_BYTES
        return "too large" if is_too_large else path.read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


@contextmanager
def _only_run(output: Path) -> Iterator[None]:
    """Let runs for files of one directory wait for each other: cron may start one before the last one has ended."""
    try:
        directory = os.open(output.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(f"--out={output}: {output.parent}: {error.strerror}") from error
    try:
        _wait_for_turn(directory, output)
        yield
    finally:
        os.close(directory)


def _wait_for_turn(directory: int, output: Path) -> None:
    ends = time.monotonic() + _TURN_SECONDS
    while True:
        try:
            return fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= ends:
                raise SourceError(
                    f"--out={output}: another program locks {output.parent}. `lslocks` shows the program"
                ) from error
            time.sleep(0.05)


def _check_replaceable(path: Path) -> None:
    """Refuse a device and a link. As root the command would put a file in the place of `/dev/null`."""
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise UsageError(f"--out={path}: not a regular file. Omit --out for standard output")
