"""Rows of clients.json: whether the client or the server is slow, and the distributions of exact mode."""

from tools.generate.dashboards.colours import CLASS_COLOURS
from tools.generate.dashboards.frame import Section
from tools.generate.dashboards.panels import Panel, Query, graph, heatmap, lines
from tools.generate.dashboards.words import (
    ALONE,
    CHOSEN,
    CLASSES,
    OF_ALL,
    RETRANSMISSION_STEPS,
    histogram_of_clients,
    largest_clients,
    largest_now,
    nearest,
    of_clients,
)

_CLIENT = "network, instance, address, class"


def _mean_time(what: str, by: str, selector: str, at: str = "") -> str:
    """Seconds of an operation: sums divided by sums, over operations that happen."""
    rate = f"[$__rate_interval]{at}"
    return (
        f"sum by ({by}) (rate(fss_client_{what}_seconds_total{{{selector}}}{rate}))"
        f" / (sum by ({by}) (rate(fss_client_requests_total{{{selector}}}{rate})) > 0)"
    )


def _slowest(what: str) -> list[Query]:
    """The slowest of all clients, or the clients that are chosen by name."""
    recorded = f"client_class:fss_client_{what}_seconds:topk20_mean5m{{{OF_ALL}}}"
    of_all = largest_now(lambda at: f"max by ({_CLIENT}) ({recorded}{at})", _CLIENT)
    chosen = largest_now(lambda at: f"({_mean_time(what, _CLIENT, ALONE, at)})", _CLIENT)
    return [Query(expr, "{{instance}}, {{address}}, {{class}}") for expr in (of_all, chosen)]


_WHOLE = of_clients(
    f"sum by (class) (address_class:fss_client_execute_seconds:rate5m{{{CHOSEN}}})"
    f" / (sum by (class) (address_class:fss_client_requests:rate5m{{{CHOSEN}}}) > 0)",
    _mean_time("execute", "class", ALONE),
)


SLOW = Section(
    "Slow: the client or the server",
    [
        graph(
            "RTT: slowest clients, top $top",
            "Mean time from call to reply: network and mount target. All clients high: the mount target, see its ceilings. One client high: its "
            "network, or another availability domain.",
            *_slowest("rtt"),
            unit="s",
            renames=CLASSES,
        ),
        graph(
            "Queue: slowest clients, top $top",
            "Mean time a call waited in the client before it was sent. High with a low RTT: the client is the limit; raise nconnect, or ask for less "
            "at once. High with a high RTT: a consequence of the RTT.",
            *_slowest("queue"),
            unit="s",
            renames=CLASSES,
        ),
        graph(
            "Whole time by class",
            "Mean time of an operation from start to end over all chosen clients: the wait of an application. Much more than RTT and queue together: "
            "the processors of the client are busy.",
            Query(_WHOLE, "{{class}}"),
            unit="s",
            renames=CLASSES,
            overrides=lines(CLASS_COLOURS),
            width=8,
        ),
        graph(
            "Retransmissions: top $top",
            "Share of calls sent more than once. Above the line packets are lost or the mount target does not answer in time. Both cost IOPS twice.",
            Query(
                nearest(f"client:fss_client_retransmissions:ratio_rate5m{{{CHOSEN}}}", "network, instance, address"),
                "{{instance}}, {{address}}",
            ),
            unit="percentunit",
            decimals=2,
            steps=RETRANSMISSION_STEPS,
            empty="None is known.",
            width=8,
        ),
        graph(
            "Major timeouts: top $top",
            "Timeouts per second of operations that got no answer through all retries. Any line above zero: applications hang, and on soft mounts they get errors.",
            Query(
                nearest(f"client:fss_client_timeouts:rate5m{{{CHOSEN}}}", "network, instance, address"),
                "{{instance}}, {{address}}",
            ),
            empty="None is known.",
            unit="reqps",
            decimals=2,
            width=8,
        ),
    ],
)


_OFF = "No data. Clients in exact mode count this (serve --nfs.exact), and the rules add it up."


def _sizes(operation: str) -> Panel:
    chosen = f'operation="{operation}", '
    return heatmap(
        f"{operation} sizes",
        f"How many {operation}s per second ask for how many bytes, over the chosen clients in exact mode (serve --nfs.exact). Much below 32 KiB: "
        "small I/O pays for blocks that it does not fill.",
        histogram_of_clients("fss_client_io_size_bytes", "address_operation", chosen),
        unit="bytes",
        empty=_OFF,
    )


def _durations(by: str = "") -> str:
    return histogram_of_clients("fss_client_request_duration_seconds", "address_class", "", by)


_DURATIONS = heatmap(
    "Durations of requests",
    "How many requests per second take how long, over the chosen clients in exact mode (serve --nfs.exact). Two bands: a part of the requests "
    "waits for something that the others do not need.",
    _durations(),
    unit="s",
    empty=_OFF,
)


def _quantile(quantile: float) -> Query:
    return Query(f"histogram_quantile({quantile:g}, {_durations('class')})", f"p{100 * quantile:g}, {{{{class}}}}")


_QUANTILES = graph(
    "p50, p95 and p99 of durations",
    "The duration that 50, 95 and 99 % of the requests of a class do not exceed, over the chosen clients in exact mode. A p99 far above the p50: few "
    "requests wait long, and a mean hides them. 16.8 s, the last edge, also stands for more.",
    *(_quantile(quantile) for quantile in (0.5, 0.95, 0.99)),
    unit="s",
    renames=CLASSES,
    empty=_OFF,
    logarithmic=True,
)


def _counted_processes(at: str) -> str:
    return f"sum by ({_PROCESS}) (rate(fss_client_process_io_operations_total{{{ALONE}}}[$__rate_interval]{at}))"


_PROCESS = "instance, process, pod_namespace, pod_name, unit"
_PROCESSES = graph(
    "Processes by cost: top $top",
    "I/O operations per second that a process causes, with pod or systemd unit, over the chosen mount targets. Needs serve --nfs.exact.processes=N "
    "on the clients.",
    Query(
        largest_clients(
            f"process:fss_client_process_io_operations:topk20_rate5m{{{CHOSEN}}}", _counted_processes, _PROCESS
        ),
        "{{process}} {{pod_namespace}}/{{pod_name}} {{unit}}, {{instance}}",
    ),
    unit="iops",
    renames=((r" / ?", " "), (r" +,", ",")),
    empty="No data. Clients count it with serve --nfs.exact.processes=N, and the rules add it up.",
    width=24,
)


def _jobs(at: str) -> str:
    recorded = f"sum by (jobid) (batch_job:fss_client_job_io_operations:topk20_rate5m{{{CHOSEN}}}{at})"
    counted = (
        f'sum by (jobid) (rate(fss_client_job_io_operations_total{{jobid!="other", {ALONE}}}[$__rate_interval]{at}))'
    )
    return f"({recorded} or {counted})"


_JOBS = graph(
    "Batch jobs by cost: top $top",
    "I/O operations per second that a batch job causes on all of its hosts, by the number that the scheduler gives it. Needs serve "
    "--nfs.exact.jobs=N on the clients.",
    Query(largest_now(_jobs, "jobid"), "job {{jobid}}"),
    unit="iops",
    empty="No data. Clients count it with serve --nfs.exact.jobs=N, and the rules add it up.",
    width=24,
)


EXACT = Section(
    "Exact mode: distributions, processes and jobs",
    [_DURATIONS, _QUANTILES, _sizes("READ"), _sizes("WRITE"), _PROCESSES, _JOBS],
)
