# SPDX-License-Identifier: Apache-2.0
"""`plan --replay`: the recorded minutes of a week on other mount targets, in one table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fss_exporter.errors import SourceError, UsageError
from fss_exporter.model.knowledge import FigureSource
from fss_toolbox import printed
from fss_toolbox.plan.answer import Section
from fss_toolbox.plan.history import minute_load, minute_queries
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.prometheus_api import DAY_S, Prometheus
from fss_toolbox.plan.recorded_mount_targets import ocid_of
from fss_toolbox.plan.scenario import Case
from fss_toolbox.sizing.placement import RESOURCES, Amounts
from fss_toolbox.sizing.replay import MINUTE_S, Replay
from fss_toolbox.tables import Column, Figure, figure_table, keyed

_MODEL: Final = (
    "wait: load above a ceiling queues, and is served at the rate of the ceiling as soon as there is room. A missing minute"
    " neither fills nor empties the queue"
)


@dataclass(frozen=True, slots=True)
class ReplayedWeek:
    """The week of one mount target on other ceilings."""

    mount_target: str  # address or name
    on: str  # what carries the load
    replay: Replay

    @property
    def unknown(self) -> tuple[str, ...]:
        """The resources that are not judged, because no document states the ceiling."""
        return tuple(name for name, ceiling in zip(RESOURCES, self.replay.ceilings, strict=True) if not ceiling)


_FIGURES: Final = (
    Figure(Column("mount target", left=True), lambda week: week.mount_target, key="mount_target"),
    Figure(Column("on", left=True), lambda week: week.on, key="on"),
    Figure(Column("minutes", 2), lambda week: week.replay.minutes, "{:,}".format, "minutes"),
    Figure(Column("missing", 1), lambda week: week.replay.missing, "{:,}".format, "missing_minutes"),
    Figure(Column("above 80 %"), lambda week: week.replay.above_warning, "{:,}".format, "minutes_above_80_percent"),
    Figure(Column("above 100 %"), lambda week: week.replay.above_ceiling, "{:,}".format, "minutes_above_100_percent"),
    Figure(
        Column("mean wait", 3),
        lambda week: week.replay.mean_wait_seconds,
        lambda wait: printed.NOT_KNOWN if wait is None else printed.duration(wait),
        "mean_wait_seconds",
    ),
    Figure(
        Column("longest wait"), lambda week: week.replay.longest_wait_seconds, printed.duration, "longest_wait_seconds"
    ),
    Figure(Column("not judged", 4, left=True), lambda week: week.unknown, ", ".join, "not_judged"),
)


def replayed_week(prometheus: Prometheus, cases: Sequence[Case]) -> list[ReplayedWeek]:
    """Return the week of each mount target as it is, on the given number, and with each change.

    Raises:
        SourceError: Prometheus does not answer, or has the minutes of no mount target.
        UsageError: a change is about clients, of which a recording of mount targets knows nothing.
    """
    weeks = {
        case.scenario.load.mount_target_id: list(_weeks(case)) for case in cases if case.scenario.load.mount_target_id
    }
    if not weeks:
        raise SourceError(
            "--replay needs the minutes of mount targets, and Prometheus has those of clients alone. Scrape a poller"
        )
    loads = {case.scenario.load.mount_target_id: case.scenario.load for case in cases}
    for begin, history in prometheus.days(minute_queries(weeks), ocid_of, int(MINUTE_S)):
        for ocid, own in weeks.items():
            minutes = {round((moment - begin) / MINUTE_S): figures for moment, figures in history.get(ocid, {}).items()}
            for number in range(1, int(DAY_S / MINUTE_S) + 1):
                load = _load(minutes.get(number, {}), loads[ocid])
                for week in own:
                    week.replay.play(load)
    return [week for own in weeks.values() for week in own]


def _load(figures: Mapping[str, float], load: Load) -> Amounts | None:
    """Return the load of a minute. None if a figure is missing that the mount target has in its busiest minutes."""
    found = minute_load(figures)
    has_iops = load.iops_figure is not None and load.iops_figure.source is not FigureSource.CLIENTS
    return None if found is None or (has_iops and found.iops is None) else found


def _weeks(case: Case) -> Iterator[ReplayedWeek]:
    scenario = case.scenario
    rows = {"today": replace(scenario, mount_targets=1)}
    if scenario.mount_targets is not None:
        rows[f"{scenario.mount_targets} of {scenario.shape}"] = scenario
    for change, other in case.changed:
        if other.clients != scenario.clients or other.target != scenario.target:
            raise UsageError(f"--what-if {change}: --replay takes shape and mount-targets")
        rows[change] = other
    for name, row in rows.items():
        yield ReplayedWeek(case.address, name, Replay(Amounts.ceilings(row.limits, row.mount_targets or 1)))


def replay_sections(weeks: Sequence[ReplayedWeek]) -> Iterator[Section]:
    """Yield the table, and what its figures rest on."""
    yield Section("The minutes of the last week on other mount targets", *figure_table(_FIGURES, weeks))
    yield Section(sentences=list(sentences(weeks)))


def sentences(weeks: Sequence[ReplayedWeek]) -> Iterator[str]:
    """Yield what the figures rest on."""
    yield _MODEL
    for week in weeks:
        if week.on == "today" and week.replay.at_ceiling:
            yield (
                f"{week.mount_target} was at 98 % of a ceiling or more in {week.replay.at_ceiling:,} minutes. More was wanted than"
                " is recorded, so its figures are too low"
            )
    if any(week.replay.missing for week in weeks):
        yield "missing: minutes without a recorded load. They count nowhere else"


def replay_document(weeks: Sequence[ReplayedWeek]) -> dict[str, Any]:
    """Return the replay as JSON. Schema: docs/schemas/plan.json."""
    return {"weeks": [keyed(_FIGURES, week) for week in weeks], "sentences": list(sentences(weeks))}
