"""exporter.json: is the monitoring itself well."""

from collections.abc import Callable

from tools.generate.dashboards.alerts import firing_alerts
from tools.generate.dashboards.exporter_polling import POLLED, POLLING, REGIONS, THESE
from tools.generate.dashboards.frame import Section, dashboard, query_variable
from tools.generate.dashboards.panels import (
    AGE_DECIMALS,
    NOT_ZERO_CRITICAL_STEPS,
    NOT_ZERO_STEPS,
    Json,
    Query,
    graph,
    stat,
    tally,
)
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import DATA_AGE_STEPS, WITHOUT_POLLER, counted, data_age, largest_now

# Jobs that have or had exporters, also where none of a job answers. Without the rules: those of the time shown.
_JOBS = "(last_over_time(job:fss_exporters:count[7d]) or last_over_time(fss_exporter_build_info[$__range]))"

_TARGETS = f"up{{{THESE}}}"

_AMBIGUOUS = f"max(sum by (job, cluster, instance) (fss_oci_ambiguous_addresses{{{POLLED}}}))"
_UNRESOLVED = f"sum(fss_nfs_unresolved_forwarder_addresses{{{THESE}}})"

_STATS = [
    tally(
        "Exporters",
        "Exporters that answered the last scrape: agents and pollers.",
        counted(f"fss_exporter_build_info{{{THESE}}}", f"{_TARGETS} and on (job) {_JOBS}"),
        width=4,
    ),
    tally(
        "Not up",
        "Targets of the same jobs whose last scrape failed. The Targets page of Prometheus has the reason.",
        counted(f"{_TARGETS} == 0 and on (job) {_JOBS}", f"{_TARGETS} and on (job) {_JOBS}"),
        steps=NOT_ZERO_CRITICAL_STEPS,
        width=4,
    ),
    tally(
        "Failing",
        "Collectors that could not read their source at the last attempt. The log of the exporter has the reason and the fix.",
        counted(f"fss_collector_success{{{THESE}}} == 0", f"fss_collector_success{{{THESE}}}"),
        steps=NOT_ZERO_CRITICAL_STEPS,
        width=4,
    ),
    stat(
        "Data age",
        "Age of the newest minute of any mount target metric, in the region where it is oldest. Older than some minutes: see the polls.",
        Query(data_age(POLLED), "newest minute"),
        WITHOUT_POLLER,
        unit="s",
        decimals=AGE_DECIMALS,
        steps=DATA_AGE_STEPS,
        width=4,
    ),
    tally(
        "Metrics failed",
        "Queries to OCI Monitoring without an answer in the last poll. Each keeps its last points for a while, then its series vanish.",
        counted(f"fss_oci_metric_success{{{POLLED}}} == 0", f"fss_oci_metric_success{{{POLLED}}}"),
        steps=NOT_ZERO_STEPS,
        width=4,
    ),
    tally(
        "Not joined",
        "Mount targets that share an address, and addresses of TLS forwarders that nothing resolves. Set address_map in the "
        "configuration.",
        f"{_AMBIGUOUS} + {_UNRESOLVED} or {_AMBIGUOUS} or {_UNRESOLVED}",
        steps=NOT_ZERO_STEPS,
        width=4,
    ),
]


_EXPECTED = table(
    "Less seen than expected",
    "Parts of which an exporter sees less than it should: mounts, the host's mount namespace, regions, compartments, metrics, permissions. The figures of "
    "what is missing are not known. doctor names the policy statement or the setting.",
    Query(
        f"sum by (job, instance, tenancy, region, part) (fss_coverage_seen{{{THESE}}} < fss_coverage_expected{{{THESE}}})",
        "seen",
    ),
    Query(
        f"sum by (job, instance, tenancy, region, part) (fss_coverage_expected{{{THESE}}} > fss_coverage_seen{{{THESE}}})",
        "expected",
    ),
    empty="None is known.",
    columns={
        "instance": Column("Exporter", least=110),
        "tenancy": Column("Tenancy", has_ocids=True, width=120, is_optional=True),
        "region": Column("Region", width=120, is_optional=True),
        "part": Column("Part", width=130),
        "seen": Column("Seen", unit="none", width=70),
        "expected": Column("Expected", unit="none", width=90),
    },
    sort_by="Exporter",
    ascending=True,
    width=12,
    height=7,
)


_COLLECTORS = table(
    "Collectors that fail or stall",
    "Collectors that could not read their source, that end rounds with unexpected errors within 15 minutes, or that had no good round for fifteen minutes. An empty "
    "table is good while exporters answer.",
    Query(f"fss_collector_success{{{THESE}}} == 0", "success"),
    Query(f"increase(fss_collector_errors_total{{{THESE}}}[15m]) > 0", "errors"),
    Query(
        f'time() - fss_collector_last_success_timestamp_seconds{{collector!~"oci_inventory(/.+)?", {THESE}}} > 900',
        "age",
    ),
    empty="None is known.",
    columns={
        "instance": Column("Exporter", least=100),
        "collector": Column("Collector", width=100),
        "success": Column("Could read", unit="bool_yes_no", steps=((None, "red"), (1, "green")), width=90),
        "errors": Column("Failed rounds", unit="none", width=110),
        "age": Column("Last good", unit="s", decimals=AGE_DECIMALS, width=95),
    },
    sort_by="Last good",
    width=12,
    height=7,
)


def _ticks(at: str) -> str:
    return f"sum by (instance) (rate(fss_nfs_ticks_total{{{THESE}}}[$__rate_interval]{at}))"


def _skipped(at: str) -> str:
    return f"sum by (reason) (rate(fss_nfs_records_skipped_total{{{THESE}}}[$__rate_interval]{at}))"


_NFS = Section(
    "Reading the kernel",
    [
        graph(
            "Ticks a second: slowest $top",
            "Readings of the counters of the kernel. 0: the agent reads no more, and its counters do not grow. Below one over --nfs.tick: the agent "
            "ticks less often to spare the host.",
            Query(
                largest_now(_ticks, "instance", operator="bottomk"),
                "{{instance}}",
            ),
            unit="cps",
            width=8,
        ),
        graph(
            "Records skipped: top $top reasons",
            "Records of mountstats or mountinfo that the agents could not read, per second. Please report a reason that stays.",
            Query(
                largest_now(_skipped, "reason"),
                "{{reason}}",
            ),
            unit="cps",
            empty="None is known.",
            width=8,
        ),
        table(
            "Loads that no mount target gets",
            "Agents with addresses of in-transit TLS forwarders (192.168.255.x) that address_map does not resolve, and agents with more mounts than they count. "
            "An empty table is good while agents answer.",
            Query(f"sum by (instance) (fss_nfs_unresolved_forwarder_addresses{{{THESE}}}) > 0", "addresses"),
            Query(f"sum by (instance) (fss_nfs_superblocks_left_out{{{THESE}}}) > 0", "mounts"),
            empty="None is known.",
            columns={
                "instance": Column("Agent", least=100),
                "addresses": Column("Forwarders", unit="none", width=100),
                "mounts": Column("Mounts", unit="none", width=80),
            },
            sort_by="Forwarders",
            width=8,
            height=9,
        ),
        table(
            "Addresses that are no known mount target",
            "Clients load these addresses, and no poller lists a single mount target with the address in the network. Poll its compartment, set network names, "
            "or name the service in the configuration of the agents.",
            Query(
                "sum by (network, address) (address:fss_client_estimated_iops:rate5m > 0"
                " unless on (network, address) (address:fss_mount_target:info or fss_client_service_info))",
                "iops",
            ),
            empty="None is known.",
            columns={
                "address": Column("Address", least=120),
                "network": Column("Network", width=140),
                "iops": Column("Estimated IOPS", unit="iops", width=140),
            },
            sort_by="Estimated IOPS",
            width=12,
            height=8,
        ),
    ],
)


_OURS = "and on (job, cluster, instance) fss_exporter_build_info"


def _largest_of_ours(series: Callable[[str], str]) -> str:
    """Series of Prometheus about its targets, for the exporters where they are largest. Who is ours is asked once, and not for each point."""
    return largest_now(lambda at: f"({series(at)} {_OURS})" if at else series(at), "job, cluster, instance")


def _of_ours(gauge: str) -> str:
    return _largest_of_ours(lambda at: f"{gauge}{{{THESE}}}{at}")


def _processor(at: str) -> str:
    return f"rate(process_cpu_seconds_total{{{THESE}}}[$__rate_interval]{at})"


_COST = Section(
    "Cost of the exporters",
    [
        graph(
            "Scrape time: top $top",
            "Seconds of a scrape, as Prometheus sees it. Near the scrape timeout, series go missing: raise the interval or split the target.",
            Query(_of_ours("scrape_duration_seconds"), "{{instance}}"),
            unit="s",
            width=6,
        ),
        graph(
            "Series: top $top",
            "Samples of one scrape, which Prometheus has to store. They grow with mounts and operations.",
            Query(_of_ours("scrape_samples_scraped"), "{{instance}}"),
            unit="short",
            width=6,
        ),
        graph(
            "Processor: top $top",
            "Processor time as share of one core.",
            Query(_largest_of_ours(_processor), "{{instance}}"),
            unit="percentunit",
            decimals=1,
            width=6,
        ),
        graph(
            "Memory: top $top",
            "Memory of the process of the exporter. A steady climb over days is a fault: please report it.",
            Query(_of_ours("process_resident_memory_bytes"), "{{instance}}"),
            unit="bytes",
            width=6,
        ),
        table(
            "Versions",
            "How many exporters run which version. Mixed versions are fine during a roll-out.",
            Query(f"count by (version, python_version) (fss_exporter_build_info{{{THESE}}})", "count"),
            columns={
                "version": Column("Version"),
                "python_version": Column("Python"),
                "count": Column("Exporters", unit="none"),
            },
            sort_by="Exporters",
            height=6,
        ),
    ],
)


def exporter() -> Json:
    """The dashboard."""
    selector = 'alertname=~"Fss(Exporter|Oci|Poller|Collector|Nfs|Scrape|MountTargetData|AgentsMissing|Coverage|Network|Addresses|Monitoring).*"'
    alerts = firing_alerts(
        "Alerts of the monitoring",
        "Firing alerts of exporters and polls.",
        selector,
        width=24,
        height=5,
    )
    return dashboard(
        uid="fss-exporter",
        title="FSS exporter",
        description="Health of the exporters: polls, ages, throttling, skipped records, cost. Needs rules/monitoring.yml for "
        "its alerts only.",
        variables=[
            query_variable(
                "job",
                "Job",
                f"query_result(group by (job) {_JOBS})",
                description="Scrape jobs that have or had exporters.",
                all_value=None,
                regex='/job="(?<value>.+)"/',
            ),
            query_variable(
                "instance",
                "Exporter",
                'label_values(fss_exporter_build_info{job=~"$job"}, instance)',
                description="One agent or poller, or all.",
            ),
        ],
        alerts='alertname=~"Fss(Exporter|Oci|Poller|Collector|Nfs|Scrape|AgentsMissing|Coverage|Monitoring).*"',
        sections=[Section("", [*_STATS, alerts, _COLLECTORS, _EXPECTED, REGIONS]), POLLING, _NFS, _COST],
    )
