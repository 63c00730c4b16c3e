"""Of exporter.json: how OCI is polled."""

from tools.dashboards.frame import Section
from tools.dashboards.panels import CEILING_STEPS, Query, graph
from tools.dashboards.tables import Column, table
from tools.dashboards.words import DATA_AGE_STEPS, IN_REGION

THESE = 'job=~"$job", instance=~"$instance"'
POLLED = f"{IN_REGION}, {THESE}"


POLLING = Section(
    "Polling OCI",
    [
        graph(
            "Time since the last poll",
            "Seconds since the last poll of a region ended. A saw-tooth as high as the poll interval is right; a line that climbs has stopped.",
            Query(f"time() - max by (region) (fss_oci_poll_timestamp_seconds{{{POLLED}}})", "{{region}}"),
            unit="s",
            steps=DATA_AGE_STEPS,
            width=8,
        ),
        graph(
            "Duration of polls",
            "How long a poll of a region took, waiting for the call budget included. Near the poll interval: raise the budget or leave out compartments.",
            Query(f"max by (region) (fss_oci_poll_duration_seconds{{{POLLED}}})", "{{region}}"),
            unit="s",
            width=8,
        ),
        graph(
            "Complete polls",
            "1 where the last poll had an answer to every query and inventory call. The tables below say what was missing.",
            Query(f"min by (region) (fss_oci_poll_success{{{POLLED}}})", "{{region}}"),
            unit="none",
            width=8,
        ),
        graph(
            "Age of the data by OCI metric",
            "Age of the newest minute of each metric, the oldest region. Metrics that are sent only when something happens (latency, LDAP, quota) "
            "may be old; throughput and connections may not.",
            Query(f"max by (oci_metric) (fss_oci_datapoint_age_seconds{{{POLLED}}})", "{{oci_metric}}"),
            unit="s",
        ),
        graph(
            "Requests to OCI by outcome",
            "Requests per second, retries included. throttled: too many calls; not_authorized: a policy is missing; unreachable: the network; "
            "broken_answer: OCI's own trouble.",
            Query(f"sum by (outcome) (rate(fss_oci_api_requests_total{{{POLLED}}}[$__rate_interval]))", "{{outcome}}"),
            unit="reqps",
            stacked=True,
        ),
        graph(
            "API budget in use",
            "Requests per second as share of the exporter's own budget, and the share of time spent waiting for it. At 100 % polls take longer.",
            Query(
                f"sum by (instance) (rate(fss_oci_api_requests_total{{{THESE}}}[$__rate_interval]))\n"
                f"/ on (instance) fss_oci_api_budget_requests_per_second{{{THESE}}}",
                "{{instance}}",
            ),
            Query(
                f"sum by (instance) (rate(fss_oci_api_budget_wait_seconds_total{{{THESE}}}[$__rate_interval]))",
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
                f"sum by (operation) (rate(fss_oci_api_request_seconds_total{{{POLLED}}}[$__rate_interval]))\n"
                f"/ (sum by (operation) (rate(fss_oci_api_requests_total{{{POLLED}}}[$__rate_interval])) > 0)",
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
                f"sum by (reason) (rate(fss_oci_streams_skipped_total{{{POLLED}}}[$__rate_interval]))",
                "left out: {{reason}}",
            ),
            Query(f"sum(rate(fss_oci_query_splits_total{{{POLLED}}}[$__rate_interval]))", "queries split"),
            Query(f"sum(rate(fss_oci_polls_refused_total{{{THESE}}}[$__rate_interval]))", "polls refused"),
            unit="cps",
            width=8,
        ),
        table(
            "OCI metrics",
            "Each metric in each region: whether its last query was answered, how many streams it has, how old its newest minute is.",
            Query(f"min by (region, oci_metric) (fss_oci_metric_success{{{POLLED}}})", "success"),
            Query(f"max by (region, oci_metric) (fss_oci_streams{{{POLLED}}})", "streams"),
            Query(f"max by (region, oci_metric) (fss_oci_datapoint_age_seconds{{{POLLED}}})", "age"),
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
            Query(f"min by (region, operation) (fss_oci_inventory_success{{{POLLED}}})", "success"),
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
            Query(f"max by (region, kind) (fss_oci_inventory_resources{{{POLLED}}})", "resources"),
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
            Query(f"max by (region) (fss_oci_inventory_age_seconds{{{POLLED}}})", "{{region}}"),
            unit="s",
            height=7,
        ),
        graph(
            "Mount targets that share an address",
            "Left out of the join with clients, because their addresses do not tell them apart (overlapping VCNs). Set address_map.",
            Query(f"max by (region) (fss_oci_ambiguous_addresses{{{POLLED}}})", "{{region}}"),
            unit="none",
            height=7,
        ),
    ],
)
