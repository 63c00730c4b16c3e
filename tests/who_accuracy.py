"""The share of each kind of load that goes to the right workload, for `make accuracy`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.who_recordings import METADATA, READS, RECORDINGS, WRITTEN, Shares, WhoRecording, load_all

KINDS = (READS, WRITTEN, METADATA)
TITLE = (
    "Who: share of the load given to the right one of 18 workloads at once; the rest is the kernel's, or a wrong one's."
)

# Least right share of a recording. No least share holds for metadata of NFSv4, which workers of the kernel finish.
LEAST_SHARE = {READS: 0.99, WRITTEN: 0.99, METADATA: 0.96}

MOST_WRONG = 0.01
_HEAD = (
    f"| recording, workload | {' | '.join(f'{kind} | right' for kind in KINDS)} |",
    f"| --- |{' ---: | ---: |' * len(KINDS)}",
)


def tables(root: Path = RECORDINGS) -> str:
    """A line for each workload of every recording below a directory; empty where there is none."""
    recordings = load_all(root)
    if not recordings:
        return ""
    return "\n".join((TITLE, "", *_HEAD, *(line for recording in recordings for line in _lines(recording))))


def misses(root: Path = RECORDINGS) -> Iterator[str]:
    """What lies below the least share, or goes to a wrong process."""
    for recording in load_all(root):
        for kind in KINDS:
            every = _sum(shares[kind] for _, shares in recording.shares())
            unreachable = kind == METADATA and recording.version == 4
            if every.truth and every.share < LEAST_SHARE[kind] and not unreachable:
                yield f"{recording.name}: {every.share:.1%} of {kind} right"
            if every.wrong > MOST_WRONG * every.truth:
                yield f"{recording.name}: {every.wrong / every.truth:.1%} of {kind} given to a wrong process"


def _lines(recording: WhoRecording) -> Iterator[str]:
    every = dict(recording.shares())
    for workload, shares in every.items():
        yield _line(f"{recording.name}, {workload}", shares)
    yield _line(f"**{recording.name}, all**", {kind: _sum(shares[kind] for shares in every.values()) for kind in KINDS})


def _sum(shares: Iterable[Shares]) -> Shares:
    parts = [(share.truth, min(share.right, share.truth), share.wrong, share.kernel) for share in shares]
    return Shares(*map(sum, zip(*parts, strict=True)))


def _line(name: str, shares: dict[str, Shares]) -> str:
    cells = (
        f"{share.truth:,} | {share.share:.1%}" if share.truth else " | " for share in (shares[kind] for kind in KINDS)
    )
    return f"| {name} | {' | '.join(cells)} |"
