"""A quick reading that is settled now and then counts what whole readings count that are settled each second."""

from collections.abc import Iterable, Iterator

from hypothesis import given, settings, strategies as st
from tests.fss_exporter.nfs.drawn_hosts import DrawnHost, Second

from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import MountstatsParser
from fss_exporter.nfs.other_namespaces import joined
from fss_exporter.nfs.superblocks import Reading, join

_READINGS = 30


class _Reader:
    """Reads the host and another namespace, each text whole or with what was learnt of the last one."""

    def __init__(self, *, is_whole: bool) -> None:
        self._is_whole = is_whole
        self._parsers = MountstatsParser(), MountstatsParser()

    def read(self, second: Second) -> Reading:
        if self._is_whole:
            self._parsers = MountstatsParser(), MountstatsParser()
        host, hidden = self._parsers
        of_host = join(host.parse(second.mountstats), parse_mountinfo(second.mountinfo))
        of_other = join(hidden.parse(second.hidden_mountstats), parse_mountinfo(second.hidden_mountinfo))
        return joined(of_host, of_other, None)._replace(is_of_host=True, started_calls=second.started_calls)


def _counted(seconds: Iterable[Second], *, is_whole: bool) -> Iterator[object]:
    """Yield what accounts say after each reading, with all totals where somebody looks."""
    reader, accounts = _Reader(is_whole=is_whole), Accounts()
    for second in seconds:
        accounts.apply(reader.read(second), second.at, second.until)
        if is_whole:
            accounts.settle()
        each_second = (
            accounts.peaks.highest(),
            accounts.unanswered.waits(),
            accounts.states.now,
            accounts.states.latencies(),
            accounts.addresses,
            accounts.unaccounted.total,
            accounts.unaccounted.coverage(),
        )
        yield each_second, (accounts.mounts, accounts.wire) if second.is_looked_at else ()


@settings(max_examples=settings().max_examples // 4)  # each plays half a minute, twice
@given(st.integers(0, 2**32))
def test_each_second_of_a_drawn_host_counts_as_whole_readings_count(seed: int) -> None:
    seconds = list(DrawnHost(seed).seconds(_READINGS))
    quick, whole = (_counted(seconds, is_whole=is_whole) for is_whole in (False, True))

    for number, (one, other) in enumerate(zip(quick, whole, strict=True)):
        assert one == other, f"reading {number}"


def test_quick_and_whole_records_are_equal() -> None:
    whole, quick = _Reader(is_whole=True), _Reader(is_whole=False)
    for second in DrawnHost(7).seconds(400):
        assert quick.read(second) == whole.read(second)
