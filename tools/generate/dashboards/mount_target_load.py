"""Rows of mount-target.json: peaks and bandwidth against the ceilings."""

from tools.generate.dashboards.colours import CLASS_COLOURS
from tools.generate.dashboards.frame import Section
from tools.generate.dashboards.panels import CEILING_STEPS, Json, Panel, Query, graph, line
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import RESOURCE_WORDS, WEEK_AGO, ceiling

from fss_exporter.model.thresholds import CEILING_LEVELS, WARNING_RATIO

# Series of servers that are no mount target have no OCID, and an empty variable would find them.
THIS = 'mount_target_id="$mount_target", mount_target_id!=""'

# Series of the clients of the mount target. What OCI says of others has no address, and a mount target without one would find it.
ADDRESS = 'network="$mount_network", address="$mount_address", address!=""'


def observed_ceiling(what: str) -> Query:
    """The ceiling that the poller observed."""
    return Query(f"max(fss_mount_target_observed_{what}_limit{{{THIS}}})", "observed ceiling")


OBSERVED_LINE = line("observed ceiling", "dark-red", dashed=True)


def ceiling_lines() -> list[Json]:
    """Colours of a ceiling and its warning line."""
    return [
        line("ceiling", "red", dashed=True),
        line(f"{100 * WARNING_RATIO:.0f} % of the ceiling", "orange", dashed=True, legend=False),
    ]


_PEAKS = graph(
    "Busiest second against the mean",
    "Ceilings hold for every second. All lines are of the clients with an agent, as share of the IOPS ceiling. The highest second of one client "
    "is the least that the mount target had to serve at once. The sum of the highest seconds is the most, if they fell together. Peaks near the "
    "ceiling over a low mean: jobs that start together, or one greedy client.",
    Query(
        f"max(mount_target:fss_client_peak_utilisation:ratio{{{THIS}}})",
        "highest second of one client",
    ),
    Query(
        f"sum(max by (instance) (fss_client_peak_estimated_iops{{{ADDRESS}}})) / min(fss_mount_target_iops_limit{{{THIS}}})",
        "sum of the highest seconds",
    ),
    Query(
        f"max(mount_target:fss_client_estimated_iops:rate5m{{{THIS}}}) / min(fss_mount_target_iops_limit{{{THIS}}})",
        "mean of five minutes",
    ),
    unit="percentunit",
    steps=CEILING_STEPS,
)


def _bandwidth(kind: str, advice: str) -> Panel:
    done = {"read": "read", "write": "written"}[kind]
    gauge = f"fss_mount_target_{kind}_bytes_per_second{{{THIS}}}"
    return graph(
        f"{kind.capitalize()} bandwidth",
        f"Bytes {done} per second through this mount target, mean of each minute, as OCI measures it. {advice}",
        Query(f"max({gauge})", kind),
        Query(f"max({gauge} offset 1w)", WEEK_AGO),
        *ceiling(f"fss_mount_target_{kind}_bytes_per_second_limit", THIS, WARNING_RATIO),
        observed_ceiling(f"{kind}_bytes_per_second"),
        unit="Bps",
        overrides=[
            line(kind, CLASS_COLOURS[kind]),
            line(WEEK_AGO, "text", dashed=True),
            *ceiling_lines(),
            OBSERVED_LINE,
        ],
        width=12,
    )


def _heading(level: float) -> str:
    return f"{100 * level:.0f} %"


HOW_LONG = table(
    "Minutes near each ceiling, 30 days",
    "Minutes of the last 30 days in which the load was at or above a share of the ceiling. A minute that OCI did not tell is not counted. Hours at 98 %: "
    "the mount target was full, and its clients waited.",
    *(
        Query(
            f'max by (resource) (increase(fss_mount_target_near_ceiling_verdicts_total{{level="{level:g}", {THIS}}}[30d]))',
            _heading(level),
        )
        for level in CEILING_LEVELS
    ),
    columns={
        "resource": Column("Ceiling", words=RESOURCE_WORDS, least=130),
        **{_heading(level): Column(f"{_heading(level)} or more", unit="none", width=120) for level in CEILING_LEVELS},
    },
    sort_by=f"{_heading(WARNING_RATIO)} or more",
    empty="None is known.",
    width=12,
    height=9,
)


PEAKS_AND_BANDWIDTH = Section(
    "Peaks and bandwidth",
    [
        _PEAKS,
        _bandwidth("read", "Near the ceiling: spread readers over mount targets, or a shape with more bandwidth."),
        _bandwidth("write", "Near the ceiling: spread writers over mount targets."),
        HOW_LONG,
    ],
)
