"""Of exporter.json: how the poller asks OCI."""

from tools.generate.dashboards.frame import Section
from tools.generate.dashboards.panels import AGE_DECIMALS, CEILING_STEPS, Query, graph
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import (
    CLOCK_STEPS,
    IN_REGION,
    POLL_AGE_STEPS,
    THROTTLED_STEPS,
    largest_now,
    poll_age,
)

THESE = 'job=~"$job", instance=~"$instance"'
POLLED = f"{IN_REGION}, {THESE}"
_ANSWERED = Column("Answered", unit="bool_yes_no", steps=((None, "red"), (1, "green")), width=100)
_REQUESTS = "fss_oci_api_requests_total"


REGIONS = table(
    "Polls of each region",
    "The last poll of each region: its age, whether OCI answered everything, how long it took, and how many requests OCI refused because the tenancy "
    "made too many a second. A duration near the poll interval: raise the budget or leave out compartments.",
    Query(poll_age(POLLED), "age"),
    Query(f"min by (tenancy, region) (fss_oci_poll_success{{{POLLED}}})", "complete"),
    Query(f"max by (tenancy, region) (fss_oci_poll_duration_seconds{{{POLLED}}})", "duration"),
    Query(f"max by (tenancy, region) (fss_oci_inventory_age_seconds{{{POLLED}}})", "inventory"),
    Query(
        f'(sum by (tenancy, region) (rate({_REQUESTS}{{outcome="throttled", {POLLED}}}[$__rate_interval]))'
        f" or sum by (tenancy, region) (fss_oci_poll_success{{{POLLED}}}) * 0)"
        f" / (sum by (tenancy, region) (rate({_REQUESTS}{{{POLLED}}}[$__rate_interval])) > 0)",
        "throttled",
    ),
    Query(f"max by (tenancy, region) (abs(fss_oci_clock_skew_seconds{{{POLLED}}}))", "skew"),
    columns={
        "tenancy": Column("Tenancy", has_ocids=True, width=110),
        "region": Column("Region"),
        "age": Column("Last poll", unit="s", decimals=AGE_DECIMALS, steps=POLL_AGE_STEPS, width=100),
        "complete": Column("Complete", unit="bool_yes_no", steps=((None, "orange"), (1, "green")), width=100),
        "duration": Column("Took", unit="s", width=85),
        "inventory": Column("Inventory", unit="s", decimals=AGE_DECIMALS, width=100),
        "skew": Column("Clock skew", unit="s", steps=CLOCK_STEPS, width=110),
        "throttled": Column("Throttled", unit="percentunit", steps=THROTTLED_STEPS, decimals=1, width=100),
    },
    sort_by="Last poll",
    height=6,
)


def _request_time(at: str) -> str:
    """Mean seconds of a request by operation."""
    rate = f"{{{POLLED}}}[$__rate_interval]{at}"
    return (
        f"sum by (operation) (rate(fss_oci_api_request_seconds_total{rate}))"
        f" / (sum by (operation) (rate({_REQUESTS}{rate})) > 0)"
    )


POLLING = Section(
    "Polling OCI",
    [
        graph(
            "Requests to OCI by outcome",
            "Requests per second, retries included. throttled: too many calls. not_authorized: a policy is missing. unreachable: the network. "
            "broken_answer: OCI itself. Outcomes that do not happen have no line.",
            Query(f"sum by (outcome) (rate({_REQUESTS}{{{POLLED}}}[$__rate_interval])) > 0", "{{outcome}}"),
            unit="reqps",
            decimals=2,
            stacked=True,
            width=8,
        ),
        graph(
            "API budget in use",
            "Requests per second as share of the budget of the account. At 100 % polls take longer.",
            Query(
                "max by (instance) (\n"
                f"sum by (job, cluster, instance, tenancy) (rate({_REQUESTS}{{{THESE}}}[$__rate_interval]))\n"
                f"/ on (job, cluster, instance, tenancy) fss_oci_api_budget_requests_per_second{{{THESE}}})",
                "{{instance}}",
            ),
            unit="percentunit",
            steps=CEILING_STEPS,
            width=8,
        ),
        graph(
            "Request time: top $top",
            "Mean time that OCI takes to answer, and mean time that a request waits for the budget before. A slow operation makes the whole poll slow.",
            Query(largest_now(_request_time, "operation"), "{{operation}}"),
            Query(
                f"sum by (instance) (rate(fss_oci_api_budget_wait_seconds_total{{{THESE}}}[$__rate_interval]))"
                f" / (sum by (instance) (rate({_REQUESTS}{{{THESE}}}[$__rate_interval])) > 0)",
                "{{instance}}, waits for the budget",
            ),
            unit="s",
            width=8,
        ),
        table(
            "OCI metrics",
            "Each metric in each region: whether OCI answered the last query, how many streams it has, how old its newest minute is. Metrics that OCI "
            "sends only when something happens (latency, LDAP, quota) may be old. Throughput and connections may not.",
            Query(f"min by (tenancy, region, oci_metric) (fss_oci_metric_success{{{POLLED}}})", "success"),
            Query(f"max by (tenancy, region, oci_metric) (fss_oci_streams{{{POLLED}}})", "streams"),
            Query(f"max by (tenancy, region, oci_metric) (fss_oci_datapoint_age_seconds{{{POLLED}}})", "age"),
            columns={
                "oci_metric": Column("OCI metric"),
                "tenancy": Column("Tenancy", has_ocids=True, width=110),
                "region": Column("Region", width=120),
                "success": _ANSWERED,
                "streams": Column("Streams", unit="none", width=85),
                "age": Column("Age", unit="s", decimals=AGE_DECIMALS, width=90),
            },
            sort_by="Age",
            width=24,
            height=10,
        ),
        table(
            "Inventory",
            "Each inventory call in each region: whether OCI answered it in every compartment. No: the log names the missing policy statement.",
            Query(f"min by (tenancy, region, operation) (fss_oci_inventory_success{{{POLLED}}})", "success"),
            columns={
                "operation": Column("Operation"),
                "tenancy": Column("Tenancy", has_ocids=True, width=110),
                "region": Column("Region", width=120),
                "success": _ANSWERED,
            },
            sort_by="Answered",
            ascending=True,
            width=12,
            height=10,
        ),
        table(
            "Resources",
            "How many resources the inventory holds. Fewer than you own: the configuration leaves out a compartment, or a policy is missing.",
            Query(
                f"sum by (kind) (max by (tenancy, region, kind) (fss_oci_inventory_resources{{{POLLED}}}))", "resources"
            ),
            columns={
                "kind": Column("Kind"),
                "resources": Column("Count", unit="none", width=80),
            },
            sort_by="Count",
            width=12,
            height=10,
        ),
        graph(
            "Streams left out and queries split",
            "Streams left out by reason: unknown_resource is in no listing, not_selected is left out by tags, and other_shard has another poller. "
            "Splits: one answer holds 2,000 streams at most.",
            Query(
                f"sum by (reason) (rate(fss_oci_streams_skipped_total{{{POLLED}}}[$__rate_interval])) > 0",
                "left out: {{reason}}",
            ),
            Query(f"sum(rate(fss_oci_query_splits_total{{{POLLED}}}[$__rate_interval]))", "queries split"),
            unit="cps",
            width=24,
            height=8,
        ),
    ],
)
