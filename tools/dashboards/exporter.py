"""exporter.json: is the monitoring itself well."""

from tools.dashboards.exporter_polling import POLLED, POLLING, THESE
from tools.dashboards.frame import Section, dashboard, query_variable
from tools.dashboards.panels import NOT_ZERO_CRITICAL_STEPS, NOT_ZERO_STEPS, Json, Query, graph, stat, tally
from tools.dashboards.tables import Column, table
from tools.dashboards.words import THROTTLED_STEPS, data_age

_AT_A_GLANCE = Section(
    "At a glance",
    [
        tally(
            "Exporters",
            "Exporters that answered the last scrape: agents and pollers.",
            f"count(fss_exporter_build_info{{{THESE}}})",
        ),
        tally(
            "Not answering",
            "Targets of the same jobs whose last scrape failed. See the Targets page of Prometheus for the reason.",
            f"count(up{{{THESE}}} == 0 and on (job) group by (job) (fss_exporter_build_info)) or vector(0)",
            steps=NOT_ZERO_CRITICAL_STEPS,
        ),
        tally(
            "Collectors failing",
            "Collectors that could not read their source at the last attempt. The exporter's log says why and what to do.",
            f"count(fss_collector_success{{{THESE}}} == 0) or vector(0)",
            steps=NOT_ZERO_CRITICAL_STEPS,
        ),
        data_age(POLLED, "Older: see the polls below."),
        tally(
            "OCI metrics failing",
            "Queries to OCI Monitoring without an answer in the last poll. Each keeps its last points for a while, then its series vanish.",
            f"count(fss_oci_metric_success{{{POLLED}}} == 0) or vector(0)",
            steps=NOT_ZERO_STEPS,
        ),
        stat(
            "Requests throttled",
            "Share of requests OCI refused because the tenancy made too many a second. Above 5 %: lower oci.calls_per_second, or find who else calls.",
            Query(
                f'(sum(rate(fss_oci_api_requests_total{{outcome="throttled", {POLLED}}}[$__rate_interval])) or vector(0))'
                f" / sum(rate(fss_oci_api_requests_total{{{POLLED}}}[$__rate_interval]))"
            ),
            unit="percentunit",
            steps=THROTTLED_STEPS,
        ),
        tally(
            "Records skipped",
            "Records of mountstats or mountinfo that could not be read in the last 15 minutes; each costs only itself. Please report one that stays.",
            f"sum(increase(fss_nfs_records_skipped_total{{{THESE}}}[15m])) or vector(0)",
            steps=NOT_ZERO_STEPS,
        ),
        tally(
            "Not joined with clients",
            "Mount targets whose address another one shares, and TLS forwarder addresses nothing resolves. Set address_map in the configuration.",
            f"(max(sum by (job, instance) (fss_oci_ambiguous_addresses{{{POLLED}}})) or vector(0))"
            f" + (sum(fss_nfs_unresolved_forwarder_addresses{{{THESE}}}) or vector(0))",
            steps=NOT_ZERO_STEPS,
        ),
    ],
)


_NFS = Section(
    "Reading the kernel",
    [
        graph(
            "Time between two ticks: ten longest",
            "The slowest ten agents. Above --nfs.tick: the tick slowed itself down to spare the host, and one-second peaks are coarser.",
            Query(f"topk(10, max by (instance) (fss_nfs_tick_interval_seconds{{{THESE}}}))", "{{instance}}"),
            unit="s",
            width=8,
        ),
        graph(
            "Ticks per second: ten slowest",
            "Readings of the kernel's counters. 0: the agent has stopped reading, and its counters stand still.",
            Query(
                f"bottomk(10, sum by (instance) (rate(fss_nfs_ticks_total{{{THESE}}}[$__rate_interval])))",
                "{{instance}}",
            ),
            unit="cps",
            width=8,
        ),
        graph(
            "Records skipped by reason",
            "Records of mountstats or mountinfo that could not be read, per second, over all agents.",
            Query(f"sum by (reason) (rate(fss_nfs_records_skipped_total{{{THESE}}}[$__rate_interval]))", "{{reason}}"),
            unit="cps",
            width=8,
        ),
        graph(
            "Superblocks: ten largest",
            "NFS superblocks (counter sets) an agent reads. What a scrape costs grows with them.",
            Query(f"topk(10, max by (instance) (fss_nfs_superblocks{{{THESE}}}))", "{{instance}}"),
            unit="none",
            width=8,
        ),
        graph(
            "Unresolved TLS forwarders",
            "Addresses of in-transit TLS forwarders (192.168.255.x) that address_map does not resolve, by agent. Their load is counted "
            "and joined with no mount target.",
            Query(f"sum by (instance) (fss_nfs_unresolved_forwarder_addresses{{{THESE}}}) > 0", "{{instance}}"),
            unit="none",
            width=8,
        ),
        graph(
            "Duration of a reading: ten slowest",
            "How long a collector took to read its source at the last attempt. Long on an NFS client: very many mounts.",
            Query(
                f"topk(10, max by (instance, collector) (fss_collector_duration_seconds{{{THESE}}}))",
                "{{instance}}, {{collector}}",
            ),
            unit="s",
            width=8,
        ),
    ],
)


_OURS = "and on (job, instance) fss_exporter_build_info"
_COST = Section(
    "What it costs",
    [
        graph(
            "Scrape duration: ten slowest",
            "As Prometheus sees it. Near the scrape timeout, series will go missing: raise the interval or split the target.",
            Query(f"topk(10, scrape_duration_seconds{{{THESE}}} {_OURS})", "{{instance}}"),
            unit="s",
            width=6,
        ),
        graph(
            "Series per scrape: ten largest",
            "Samples of one scrape. What Prometheus has to store; grows with mounts and operations.",
            Query(f"topk(10, scrape_samples_scraped{{{THESE}}} {_OURS})", "{{instance}}"),
            unit="short",
            width=6,
        ),
        graph(
            "Processor time: ten largest",
            "Seconds of processor time a second; 1 is one core.",
            Query(f"topk(10, rate(process_cpu_seconds_total{{{THESE}}}[$__rate_interval]) {_OURS})", "{{instance}}"),
            unit="none",
            decimals=3,
            width=6,
        ),
        graph(
            "Resident memory: ten largest",
            "Memory of the exporter's process. A steady climb over days is a fault; please report it.",
            Query(f"topk(10, process_resident_memory_bytes{{{THESE}}} {_OURS})", "{{instance}}"),
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
    return dashboard(
        uid="fss-exporter",
        title="FSS exporter",
        description="Is the monitoring of OCI File Storage itself well: polls, ages, throttling, skipped records, cost. Needs no rules.",
        variables=[
            query_variable(
                "job",
                "Job",
                "label_values(fss_exporter_build_info, job)",
                description="Scrape jobs that have exporters.",
                all_value=None,
            ),
            query_variable(
                "instance",
                "Exporter",
                'label_values(fss_exporter_build_info{job=~"$job"}, instance)',
                description="One agent or poller, or all.",
            ),
        ],
        alerts='alertname=~"Fss(Exporter|Oci|Collector|Nfs).+"',
        sections=[_AT_A_GLANCE, POLLING, _NFS, _COST],
    )
