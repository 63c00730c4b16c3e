"""`make accuracy`: the estimate against the packets, one line for each recorded workload.

`python -m tools.check.accuracy [DIRECTORY]` takes other recordings of the same layout; `--write` puts the table by kind of
workload into docs/cost-model.md.
"""

import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests import latency_accuracy, who_accuracy
from tests.exact_recordings import cost, load_all as load_exact, totals
from tests.mixes import errors
from tests.recordings import (
    METADATA,
    PACKED_KERNEL,
    Recording,
    RecordingError,
    is_frozen,
    load_all,
    load_live,
    load_older,
    load_repeated,
    load_unseen,
)
from tools.generate.written_part import rewritten

from fss_exporter.model.operations import READ, WRITE

# Recordings an estimator cannot get right from counters, and why.
OUT_OF_REACH = {
    "c6_direct_short": "asks for 1 MiB of short files, and counters show the returned bytes",
    "p_bind_ns": "part of the traffic belongs to a mount this reader cannot see",
    "w_umount_mount": "counters destroyed between two looks",
    "r2_blackhole": "retransmissions are on the wire without being operations",
    "r3_soft": "retransmissions are on the wire without being operations",
}

# Several sizes mixed within one second.
ADVERSARIAL = frozenset(("c4_randread_mix", "d6_randwrite_mix", "e_oddwrite_fsync", "k_mixed"))

_ROOT = Path(__file__).parents[2]
DOCUMENT = _ROOT / "docs" / "cost-model.md"  # the page with the table by kind of workload
MARKS = ("<!-- accuracy: python -m tools.check.accuracy --write -->\n", "\n<!-- /accuracy -->")

# Largest error on the recordings of live programs, repeated and older workloads. Those drawn by chance have no target: whatever
# their errors are is published.
TARGET_ERROR = 0.03
ADVERSARIAL_TARGET_ERROR = 0.06
MEAN_TARGET_ERROR = 0.015
OTHER_TARGET_ERROR = 0.09

UNSEEN_TITLE = "unseen: drawn by chance, recorded after the rule was frozen"
SEEN_TITLE = "tuning since the rule changed: drawn by chance"
OLDER_TITLE = "other workloads, whose errors were known when the rule last changed"
REPEATED_TITLE = "repeated: workloads of the tuning set on another kernel"
TUNING_TITLE = "tuning: the rule was chosen with them"


@dataclass(frozen=True)
class Row:
    """One recording's result: estimated I/O operations against exact ones."""

    name: str
    kernel: str
    exact: int
    lower: float
    point: float
    upper: float
    outside: tuple[str, ...]
    kind: str  # of workload, where it was drawn
    alone: Mapping[str, float]  # signed relative error of READ alone and of WRITE alone, where they cost anything

    @property
    def error(self) -> float:
        """Signed relative error of the point."""
        return self.point / self.exact - 1 if self.exact else 0.0

    @property
    def target(self) -> float:
        """Largest error the estimate may have here."""
        if self.name in OUT_OF_REACH or self.kind:
            return float("inf")
        if self.kernel == PACKED_KERNEL:
            return OTHER_TARGET_ERROR
        return ADVERSARIAL_TARGET_ERROR if self.name in ADVERSARIAL else TARGET_ERROR


@cache
def measure(recording: Recording) -> Row:
    """Run one recording through the accounts, once; `outside` names the kinds whose truth lies outside the bounds."""
    estimate, exact = recording.estimate(), recording.exact
    outside = tuple(
        kind
        for kind, bounds in estimate.items()
        if not (bounds.lower - 1e-6 <= exact[kind] <= bounds.upper + 1e-6)
        or (kind == METADATA and bounds.point != exact[kind])
    )
    alone = {kind: estimate[kind].point / exact[kind] - 1 for kind in (READ, WRITE) if exact[kind]}
    lower, point, upper = (sum(values) for values in zip(*estimate.values(), strict=True))
    return Row(
        recording.name, recording.kernel, sum(exact.values()), lower, point, upper, outside, recording.kind, alone
    )


def mean_error(rows: Iterable[Row]) -> float:
    """Mean absolute error of the recordings that cost anything and can be got right."""
    errors = [abs(row.error) for row in within_reach(rows)]
    return sum(errors) / len(errors) if errors else 0.0


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table, the mean below."""
    lines = [
        "| kernel | recording | packets | lower | point | upper | error | remark |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        remark = OUT_OF_REACH.get(row.name, "mixed sizes within a second" if row.name in ADVERSARIAL else "")
        error = f"{row.error:+.1%}" if row.exact else ""
        lines.append(
            f"| {_short(row.kernel)} | {row.name} | {row.exact} | {row.lower:.0f} | {row.point:.0f} "
            f"| {row.upper:.0f} | {error} | {remark} |"
        )
    worst = max((abs(row.error) for row in rows if row.name not in OUT_OF_REACH), default=0.0)
    lines += [
        "",
        f"Mean error {mean_error(rows):.2%}, worst {worst:.1%}, without the recordings that no counter can tell.",
    ]
    return "\n".join(lines)


def sets() -> list[tuple[str, list[Row]]]:
    """All recordings by what the rule knew of them, the unseen first."""
    drawn = UNSEEN_TITLE if is_frozen() else SEEN_TITLE
    recordings = (
        (drawn, load_unseen()),
        (OLDER_TITLE, load_older()),
        (REPEATED_TITLE, load_repeated()),
        (TUNING_TITLE, [*load_all(), *load_live()]),
    )
    return [(title, list(map(measure, of))) for title, of in recordings]


def sets_table(by_title: Iterable[tuple[str, list[Row]]]) -> str:
    """Mean and worst error of each set, as a Markdown table."""
    lines = [
        "| workloads | recordings | with a cost that counters can show | mean error | worst |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for title, rows in by_title:
        group = within_reach(rows)
        worst = max(group, key=lambda row: abs(row.error))
        lines.append(
            f"| {title} | {len(rows)} | {len(group)} | {mean_error(rows):.1%} | {worst.error:+.1%} ({worst.name}) |"
        )
    return "\n".join(lines)


def within_reach(rows: Iterable[Row]) -> list[Row]:
    """The rows that cost anything and that an estimator can get right."""
    return [row for row in rows if row.exact and row.name not in OUT_OF_REACH]


def kinds_table(rows: Iterable[Row]) -> str:
    """Mean and worst error and the mean width of the bounds of each kind of workload, as a Markdown table."""
    reachable = within_reach(rows)
    lines = [
        "| kind of workload | recordings | mean error | worst | bounds, mean |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for kind in dict.fromkeys(row.kind for row in reachable):
        group = [row for row in reachable if row.kind == kind]
        worst = max(group, key=lambda row: abs(row.error))
        low, high = (sum(values) / len(group) - 1 for values in zip(*_relative_bounds(group), strict=True))
        lines.append(
            f"| {kind} | {len(group)} | {mean_error(group):.1%} | {worst.error:+.1%} | {low:+.0%} to {high:+.0%} |"
        )
    return "\n".join(lines)


def classes_table(rows: Iterable[Row]) -> str:
    """Mean and worst error of READ alone and of WRITE alone, as a Markdown table. Both can cancel in the sum."""
    lines = [
        "| class alone, as a panel can draw it | recordings | mean error | worst |",
        "| --- | ---: | ---: | ---: |",
    ]
    for kind in (READ, WRITE):
        errors = {row.name: row.alone[kind] for row in within_reach(rows) if kind in row.alone}
        worst = max(errors, key=lambda name: abs(errors[name]))
        mean = sum(map(abs, errors.values())) / len(errors)
        lines.append(f"| {kind} | {len(errors)} | {mean:.1%} | {errors[worst]:+.1%} ({worst}) |")
    return "\n".join(lines)


def _relative_bounds(rows: Iterable[Row]) -> Iterable[tuple[float, float]]:
    return ((row.lower / row.exact, row.upper / row.exact) for row in rows)


def mixes_table() -> str:
    """Error of the point on mixes of sizes without a recording."""
    lines = ["| READ sizes within each second (simulated) | error |", "| --- | ---: |"]
    return "\n".join([*lines, *(f"| {name} | {error:+.1%} |" for name, error in errors())])


def exact_table() -> str:
    """Exact mode beside the estimate, for the recordings that hold the kernel's own size tables."""
    lines = [
        "| kernel | recording | packets | exact mode | lower | point | upper | error of exact mode | error of the estimate |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for recording in load_exact():
        with tempfile.TemporaryDirectory() as directory:
            counted = recording.accounts(recording.sysfs(Path(directory)))
        estimated = recording.accounts(Path(), exact=False)
        locks = sum(sum(server["nlm"].values()) for server in recording.truth["by_server"].values())
        if locks:
            seen = sum(totals(counted).locks.values())
            lines.append(f"| {_short(recording.kernel)} | {recording.name}, lock calls | {locks} | {seen} | | | | | |")
        for operation, packets in recording.cost.items():
            if not packets:
                continue
            _, exact, _ = cost(counted, operation)
            lower, point, upper = cost(estimated, operation)
            lines.append(
                f"| {_short(recording.kernel)} | {recording.name}, {operation} | {packets} | {exact:.0f} | {lower:.0f} "
                f"| {point:.0f} | {upper:.0f} | {exact / packets - 1:+.1%} | {point / packets - 1:+.1%} |"
            )
    return "\n".join(lines)


def _short(kernel: str) -> str:
    return kernel.removeprefix("kernel-")


def _summary(by_title: Sequence[tuple[str, list[Row]]]) -> str:
    """Tables of sets, and of kinds of workloads and of classes of those drawn by chance."""
    _, drawn = by_title[0]
    return "\n\n".join((sets_table(by_title), kinds_table(drawn), classes_table(drawn)))


def report() -> str:
    """All tables, the ones the rule was not chosen with first."""
    by_title = sets()
    parts = [_summary(by_title)]
    parts += [f"{title[:1].upper()}{title[1:]}.\n\n{table(rows)}" for title, rows in by_title]
    return "\n\n".join((*parts, exact_table(), mixes_table()))


def documented() -> str:
    """The page with the tables of sets and kinds in their place."""
    return rewritten(DOCUMENT.read_text(), *MARKS, _summary(sets()))


def main() -> None:
    """Print the table; exit 1 if a recording misses its target."""
    arguments = sys.argv[1:]
    if arguments == ["--write"]:
        DOCUMENT.write_text(documented())
        return
    places = [*map(Path, arguments)]
    others = [kind.tables(*places) for kind in (latency_accuracy, who_accuracy)]
    missed = [line for kind in (latency_accuracy, who_accuracy) for line in kind.misses(*places)]
    try:
        rows = [measure(recording) for recording in load_all(*map(Path, arguments))]
    except RecordingError as error:
        if not any(others):
            sys.exit(f"accuracy: {error}")
        rows = []
    mean = mean_error(rows)
    further = [] if arguments else [*load_live(), *load_repeated(), *load_older(), *load_unseen()]
    if not arguments:
        print(report(), end="\n\n")
    elif rows:
        print(table(rows), exact_table(), mixes_table(), sep="\n\n", end="\n\n")
    print(*filter(None, others), sep="\n\n")
    rows += map(measure, further)
    misses = [row for row in rows if abs(row.error) > row.target or (row.outside and row.name not in OUT_OF_REACH)]
    for row in misses:
        outside = ", ".join(row.outside) or "nothing"
        print(f"missed: {row.kernel}/{row.name} error {row.error:+.1%}, outside the bounds: {outside}")
    for line in missed:
        print(f"missed: {line}")
    sys.exit(1 if misses or missed or mean > MEAN_TARGET_ERROR else 0)


if __name__ == "__main__":
    main()
