"""exporter.json: is the monitoring itself well."""

from tools.dashboards.frame import Section, dashboard, datasource_variable, query_variable
from tools.dashboards.panels import (
    CEILING_STEPS,
    NEUTRAL_STEPS,
    NOT_ZERO_CRITICAL_STEPS,
    NOT_ZERO_STEPS,
    Column,
    Json,
    Query,
    graph,
    stat,
    table,
)
from tools.dashboards.words import DATA_AGE_STEPS, IN_REGION, THROTTLED_STEPS, region_variable

_THESE = 'job=~"$job", instance=~"$instance"'
_POLLED = f"{IN_REGION}, {_THESE}"


_AT_A_GLANCE = Section(
    "At a glance",
    [
        stat(
            "Exporters",
            "Exporters that answered the last scrape: agents and pollers.",
            Query(f"count(fss_exporter_build_info{{{_THESE}}})"),
            unit="none",
            steps=NEUTRAL_STEPS,
        ),
        stat(
            "Not answering",
            "Targets of the same jobs whose last scrape failed. See the Targets page of Prometheus for the reason.",
            Query(f"count(up{{{_THESE}}} == 0 and on (job) group by (job) (fss_exporter_build_info)) or vector(0)"),
            unit="none",
            steps=NOT_ZERO_CRITICAL_STEPS,
        ),
        stat(
            "Collectors failing",
            "Collectors that could not read their source at the last attempt. The exporter's log says why and what to do.",
            Query(f"count(fss_collector_success{{{_THESE}}} == 0) or vector(0)"),
            unit="none",
            steps=NOT_ZERO_CRITICAL_STEPS,
        ),
        stat(
            "Age of the data",
            "How old the newest minute of any mount target metric is, in the region where it is oldest. One to three minutes is normal.",
            Query(
                "max(min by (region) (fss_oci_datapoint_age_seconds{"
                f'oci_metric=~"(?i:MountTarget(Connections|IOPS|ReadThroughput|WriteThroughput))", {_POLLED}}}))'
            ),
            unit="s",
            steps=DATA_AGE_STEPS,
        ),
        stat(
            "OCI metrics failing",
            "Queries to OCI Monitoring without an answer in the last poll. Each keeps its last points for a while, then its series vanish.",
            Query(f"count(fss_oci_metric_success{{{_POLLED}}} == 0) or vector(0)"),
            unit="none",
            steps=NOT_ZERO_STEPS,
        ),
        stat(
            "Requests throttled",
            "Share of requests OCI refused because the tenancy made too many a second. Above 5 %: lower oci.calls_per_second, or find who else calls.",
            Query(
                f'(sum(rate(fss_oci_api_requests_total{{outcome="throttled", {_POLLED}}}[$__rate_interval])) or vector(0))'
                f" / sum(rate(fss_oci_api_requests_total{{{_POLLED}}}[$__rate_interval]))"
            ),
            unit="percentunit",
            steps=THROTTLED_STEPS,
        ),
        stat(
            "Records skipped",
            "Records of mountstats or mountinfo that could not be read in the last 15 minutes; each costs only itself. Please report one that stays.",
            Query(f"sum(increase(fss_nfs_records_skipped_total{{{_THESE}}}[15m])) or vector(0)"),
            unit="none",
            steps=NOT_ZERO_STEPS,
        ),
        stat(
            "Not joined with clients",
            "Mount targets whose address another one shares, and TLS forwarder addresses nothing resolves. Set address_map in the configuration.",
            Query(
                f"(max(sum by (job, instance) (fss_oci_ambiguous_addresses{{{_POLLED}}})) or vector(0))"
                f" + (sum(fss_nfs_unresolved_forwarder_addresses{{{_THESE}}}) or vector(0))"
            ),
            unit="none",
            steps=NOT_ZERO_STEPS,
        ),
    ],
)


_OCI = Section(
    "Polling OCI",
    [
        graph(
            "Time since the last poll",
            "Seconds since the last poll of a region ended. A saw-tooth as high as the poll interval is right; a line that climbs has stopped.",
            Query(f"time() - max by (region) (fss_oci_poll_timestamp_seconds{{{_POLLED}}})", "{{region}}"),
            unit="s",
            steps=DATA_AGE_STEPS,
            width=8,
        ),
        graph(
            "Duration of polls",
            "How long a poll of a region took, waiting for the call budget included. Near the poll interval: raise the budget or leave out compartments.",
            Query(f"max by (region) (fss_oci_poll_duration_seconds{{{_POLLED}}})", "{{region}}"),
            unit="s",
            width=8,
        ),
        graph(
            "Complete polls",
            "1 where the last poll had an answer to every query and inventory call. The tables below say what was missing.",
            Query(f"min by (region) (fss_oci_poll_success{{{_POLLED}}})", "{{region}}"),
            unit="none",
            width=8,
        ),
        graph(
            "Age of the data by OCI metric",
            "Age of the newest minute of each metric, the oldest region. Metrics that are sent only when something happens (latency, LDAP, quota) "
            "may be old; throughput and connections may not.",
            Query(f"max by (oci_metric) (fss_oci_datapoint_age_seconds{{{_POLLED}}})", "{{oci_metric}}"),
            unit="s",
        ),
        graph(
            "Requests to OCI by outcome",
            "Requests per second, retries included. throttled: too many calls; not_authorized: a policy is missing; unreachable: the network; "
            "broken_answer: OCI's own trouble.",
            Query(f"sum by (outcome) (rate(fss_oci_api_requests_total{{{_POLLED}}}[$__rate_interval]))", "{{outcome}}"),
            unit="reqps",
            stacked=True,
        ),
        graph(
            "API budget in use",
            "Requests per second as share of the exporter's own budget, and the share of time spent waiting for it. At 100 % polls take longer.",
            Query(
                f"sum by (instance) (rate(fss_oci_api_requests_total{{{_THESE}}}[$__rate_interval]))\n"
                f"/ on (instance) fss_oci_api_budget_requests_per_second{{{_THESE}}}",
                "{{instance}}",
            ),
            Query(
                f"sum by (instance) (rate(fss_oci_api_budget_wait_seconds_total{{{_THESE}}}[$__rate_interval]))",
                "{{instance}}, waiting",
            ),
            unit="percentunit",
            steps=CEILING_STEPS,
            width=8,
        ),
        graph(
            "Mean time of a request by operation",
            "How long OCI takes to answer. A slow operation makes the whole poll slow.",
            Query(
                f"sum by (operation) (rate(fss_oci_api_request_seconds_total{{{_POLLED}}}[$__rate_interval]))\n"
                f"/ (sum by (operation) (rate(fss_oci_api_requests_total{{{_POLLED}}}[$__rate_interval])) > 0)",
                "{{operation}}",
            ),
            unit="s",
            width=8,
        ),
        graph(
            "Streams left out, queries split, polls refused",
            "Streams left out by reason: unknown_resource belongs to a compartment the inventory does not see. Splits: one answer holds "
            "2,000 streams at most. Refused: the poll before was still running.",
            Query(
                f"sum by (reason) (rate(fss_oci_streams_skipped_total{{{_POLLED}}}[$__rate_interval]))",
                "left out: {{reason}}",
            ),
            Query(f"sum(rate(fss_oci_query_splits_total{{{_POLLED}}}[$__rate_interval]))", "queries split"),
            Query(f"sum(rate(fss_oci_polls_refused_total{{{_THESE}}}[$__rate_interval]))", "polls refused"),
            unit="cps",
            width=8,
        ),
        table(
            "OCI metrics",
            "Each metric in each region: whether its last query was answered, how many streams it has, how old its newest minute is.",
            Query(f"min by (region, oci_metric) (fss_oci_metric_success{{{_POLLED}}})", "success"),
            Query(f"max by (region, oci_metric) (fss_oci_streams{{{_POLLED}}})", "streams"),
            Query(f"max by (region, oci_metric) (fss_oci_datapoint_age_seconds{{{_POLLED}}})", "age"),
            columns={
                "oci_metric": Column("OCI metric"),
                "region": Column("Region", width=150),
                "success": Column("Answered", unit="bool_yes_no", steps=((None, "red"), (1, "green")), width=100),
                "streams": Column("Streams", unit="none", width=100),
                "age": Column("Age", unit="s", width=110),
            },
            sort_by="Age",
            width=12,
        ),
        table(
            "Inventory",
            "Each inventory call in each region: whether the last was answered in every compartment. No: the log names the missing policy statement.",
            Query(f"min by (region, operation) (fss_oci_inventory_success{{{_POLLED}}})", "success"),
            columns={
                "operation": Column("Operation"),
                "region": Column("Region"),
                "success": Column("Answered", unit="bool_yes_no", steps=((None, "red"), (1, "green")), width=100),
            },
            width=6,
        ),
        table(
            "Resources",
            "What the inventory holds, and how old it is. Fewer than you own: a compartment is not asked or not allowed.",
            Query(f"max by (region, kind) (fss_oci_inventory_resources{{{_POLLED}}})", "resources"),
            columns={
                "kind": Column("Kind"),
                "region": Column("Region"),
                "resources": Column("Count", unit="none", width=80),
            },
            sort_by="Count",
            width=6,
        ),
        graph(
            "Age of the inventory",
            "Age of the newest complete inventory of each region. New mount targets show up when it is renewed.",
            Query(f"max by (region) (fss_oci_inventory_age_seconds{{{_POLLED}}})", "{{region}}"),
            unit="s",
            height=7,
        ),
        graph(
            "Mount targets that share an address",
            "Left out of the join with clients, because their addresses do not tell them apart (overlapping VCNs). Set address_map.",
            Query(f"max by (region) (fss_oci_ambiguous_addresses{{{_POLLED}}})", "{{region}}"),
            unit="none",
            height=7,
        ),
    ],
)


_NFS = Section(
    "Reading the kernel",
    [
        graph(
            "Time between two ticks: ten longest",
            "The slowest ten agents. Above --nfs.tick: the tick slowed itself down to spare the host, and one-second peaks are coarser.",
            Query(f"topk(10, max by (instance) (fss_nfs_tick_interval_seconds{{{_THESE}}}))", "{{instance}}"),
            unit="s",
            width=8,
        ),
        graph(
            "Ticks per second: ten slowest",
            "Readings of the kernel's counters. 0: the agent has stopped reading, and its counters stand still.",
            Query(
                f"bottomk(10, sum by (instance) (rate(fss_nfs_ticks_total{{{_THESE}}}[$__rate_interval])))",
                "{{instance}}",
            ),
            unit="cps",
            width=8,
        ),
        graph(
            "Records skipped by reason",
            "Records of mountstats or mountinfo that could not be read, per second, over all agents.",
            Query(f"sum by (reason) (rate(fss_nfs_records_skipped_total{{{_THESE}}}[$__rate_interval]))", "{{reason}}"),
            unit="cps",
            width=8,
        ),
        graph(
            "Superblocks: ten largest",
            "NFS superblocks (counter sets) an agent reads. What a scrape costs grows with them.",
            Query(f"topk(10, max by (instance) (fss_nfs_superblocks{{{_THESE}}}))", "{{instance}}"),
            unit="none",
            width=8,
        ),
        graph(
            "Unresolved TLS forwarders",
            "Addresses of in-transit TLS forwarders (192.168.255.x) that address_map does not resolve, by agent. Their load is counted "
            "and joined with no mount target.",
            Query(f"sum by (instance) (fss_nfs_unresolved_forwarder_addresses{{{_THESE}}}) > 0", "{{instance}}"),
            unit="none",
            width=8,
        ),
        graph(
            "Duration of a reading: ten slowest",
            "How long a collector took to read its source at the last attempt. Long on an NFS client: very many mounts.",
            Query(
                f"topk(10, max by (instance, collector) (fss_collector_duration_seconds{{{_THESE}}}))",
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
            Query(f"topk(10, scrape_duration_seconds{{{_THESE}}} {_OURS})", "{{instance}}"),
            unit="s",
            width=6,
        ),
        graph(
            "Series per scrape: ten largest",
            "Samples of one scrape. What Prometheus has to store; grows with mounts and operations.",
            Query(f"topk(10, scrape_samples_scraped{{{_THESE}}} {_OURS})", "{{instance}}"),
            unit="short",
            width=6,
        ),
        graph(
            "Processor time: ten largest",
            "Seconds of processor time a second; 1 is one core.",
            Query(f"topk(10, rate(process_cpu_seconds_total{{{_THESE}}}[$__rate_interval]) {_OURS})", "{{instance}}"),
            unit="none",
            decimals=3,
            width=6,
        ),
        graph(
            "Resident memory: ten largest",
            "Memory of the exporter's process. A steady climb over days is a fault; please report it.",
            Query(f"topk(10, process_resident_memory_bytes{{{_THESE}}} {_OURS})", "{{instance}}"),
            unit="bytes",
            width=6,
        ),
        table(
            "Versions",
            "How many exporters run which version. Mixed versions are fine during a roll-out.",
            Query(f"count by (version, python_version) (fss_exporter_build_info{{{_THESE}}})", "count"),
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
            datasource_variable(),
            region_variable(),
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
        sections=[_AT_A_GLANCE, _OCI, _NFS, _COST],
    )
