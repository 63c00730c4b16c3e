"""The queries of the alarm pack: every literal follows from the model, and they count what they are meant to."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tests.artefacts.shipped_alarms import MQL, PACK, QUERIES, all_queries
from tests.mql_text import mql_text

from fss_exporter.model.limits import SHAPES, STANDARD, Shape
from fss_exporter.model.thresholds import (
    DEFAULT_LATENCY_SECONDS,
    LATENCY_CRITICAL_RATIO,
    REPLICATION_DEFAULT_INTERVAL_SECONDS,
    REPLICATION_WARNING_INTERVALS,
    SUCCESS_CRITICAL_RATIO,
    SUCCESS_WARNING_RATIO,
    WARNING_RATIO,
)
from fss_exporter.oci.metric_table import SERVICE_METRICS
from fss_toolbox import mql
from fss_toolbox.alarms import pack
from fss_toolbox.alarms.figures import (
    CEILING_ALARMS,
    SERVICE_CEILING_ALARMS,
    CeilingAlarm,
    ServiceCeilingAlarm,
    spell,
)
from fss_toolbox.mql import Comparison, Query

BY_KEY = {alarm.key: alarm for alarm in PACK}


def bounds(text: str) -> tuple[float, ...]:
    expression = mql.parse(text)
    assert isinstance(expression, Comparison), f"{text}: no single predicate"
    return expression.bounds


def literals(text: str) -> list[float]:
    """Every bound in a query, from left to right."""
    return [float(bound) for bound in re.findall(r"[<>]=? ([\d.]+)", text)]


def rule_queries(alarm: pack.Alarm) -> dict[str, str]:
    return {rule["severity"]: rule["query"] for _, rule in alarm.rules()}


class TestCeilings:
    """MQL cannot divide by a limit gauge: ratio x ceiling is typed in, so it is computed here."""

    @pytest.mark.parametrize("ceiling", CEILING_ALARMS.values(), ids=lambda ceiling: ceiling.key)
    @pytest.mark.parametrize("shape", SHAPES.values(), ids=lambda shape: shape.name)
    def test_literals_are_ratio_times_ceiling_and_the_texts_say_so(self, ceiling: CeilingAlarm, shape: Shape) -> None:
        limit = ceiling.of(shape.limits)
        alarm = BY_KEY.get(f"{ceiling.key}-{shape.name}" if ceiling.per_shape else ceiling.key)
        assert (alarm is None) == (limit is None)
        if alarm is None or limit is None:
            return
        assert bounds(rule_queries(alarm)["WARNING"]) == (round(WARNING_RATIO * limit, 9),)
        for part in (spell(ceiling.kind, WARNING_RATIO * limit), spell(ceiling.kind, limit), "80 %"):
            assert part in alarm.body["body"]
        if shape is not STANDARD and ceiling.per_shape:
            assert "${" + shape.name.upper().replace("-", "_") + "_MOUNT_TARGET_OCIDS}" in alarm.body["query"]

    def test_a_ceiling_alone_is_no_reason_to_page(self) -> None:
        for key, alarm in BY_KEY.items():
            if key.startswith((*CEILING_ALARMS, "utilization")):
                assert (alarm.body["severity"], alarm.body["overrides"]) == ("WARNING", [])

    def test_the_white_papers_iops_alarm_is_among_them_and_is_the_only_one_on_iops(self) -> None:
        peak = BY_KEY["mount-target-iops-peak-standard"]
        assert peak.body["query"] == "MountTargetIOPS[5m].groupBy(resourceId).max() >= 40000"
        assert peak.body["pendingDuration"] == "PT10M"
        assert [alarm.key for alarm in PACK if "iops" in alarm.key and "volume" not in alarm.key] == [
            "mount-target-iops-peak-standard",
            "utilization-iops-peak",
        ]

    def test_a_single_busy_minute_sends_nothing(self) -> None:
        """The query is true for as many minutes as its window has, which end before the trigger delay does."""
        for key in ("mount-target-iops-peak-standard", "utilization-iops-peak"):
            (metric,) = mql.metrics(mql.parse(BY_KEY[key].body["query"]))
            assert metric.interval_minutes < int(BY_KEY[key].body["pendingDuration"][2:-1])


class TestCeilingsOfOtherServices:
    """Figures of the documents: 40 TB of Lustre at 125 MB/s per TB, volumes of 10 VPU/GB from 1 TB up."""

    DOCUMENTED = (
        ("lustre-bandwidth", 125e6 * 40),
        ("lustre-space", 40e12),
        ("volume-iops", 25_000.0),
        ("volume-bandwidth", 480e6),
    )

    def test_the_files_are_made_for_what_they_say(self) -> None:
        assert [(alarm.key, alarm.stated) for alarm in SERVICE_CEILING_ALARMS.values()] == list(self.DOCUMENTED)

    @pytest.mark.parametrize("ceiling", SERVICE_CEILING_ALARMS.values(), ids=lambda ceiling: ceiling.key)
    def test_every_literal_is_a_share_of_the_ceiling_over_five_minutes(self, ceiling: ServiceCeilingAlarm) -> None:
        space = ceiling.key == "lustre-space"
        whole = ceiling.stated if space else ceiling.stated * 300
        pairs = [
            [bound / whole for bound in alternative]
            for alternative in alternatives(mql.parse(BY_KEY[ceiling.key].body["query"]))
        ]
        quarters = [[0.2 * part for part in pair] for pair in ((3, 1), (2, 2), (1, 3), (4,), (4,))]
        assert pairs == [pytest.approx(pair) for pair in ([[0.2]] if space else quarters)]

    @pytest.mark.parametrize("ceiling", SERVICE_CEILING_ALARMS.values(), ids=lambda ceiling: ceiling.key)
    def test_texts_state_threshold_and_ceiling(self, ceiling: ServiceCeilingAlarm) -> None:
        body = BY_KEY[ceiling.key].body["body"]
        for part in (
            spell(ceiling.kind, ceiling.ratio(WARNING_RATIO) * ceiling.stated),
            spell(ceiling.kind, ceiling.stated),
            f"{ceiling.ratio(WARNING_RATIO) * 100:g} %",
        ):
            assert part in body


def alternatives(expression: mql.Expression) -> Iterator[list[float]]:
    """Bounds of every alternative, those that have to hold together in one list."""
    match expression:
        case mql.Join(left=left, operator="||", right=right):
            yield from alternatives(left)
            yield from alternatives(right)
        case mql.Join(left=left, right=right):
            yield [bound for side in (left, right) for alternative in alternatives(side) for bound in alternative]
        case mql.Comparison(bounds=found):
            yield list(found)


class TestOtherThresholds:
    @pytest.mark.parametrize(("severity", "ratio"), [("WARNING", WARNING_RATIO), ("CRITICAL", LATENCY_CRITICAL_RATIO)])
    def test_latency_is_compared_with_every_objective_where_requests_are_not_rare(
        self, severity: str, ratio: float
    ) -> None:
        text = rule_queries(BY_KEY["mount-target-slow"])[severity]
        bounds_read = list(alternatives(mql.parse(text)))
        assert bounds_read == [[round(ratio * seconds, 9), 1.0] for seconds in DEFAULT_LATENCY_SECONDS.values()]
        for _, size in DEFAULT_LATENCY_SECONDS:
            assert text.count(f'size = "{size}"') == (4 if size else 0)

    def test_the_text_on_latency_names_every_objective(self) -> None:
        for _, rule in BY_KEY["mount-target-slow"].rules():
            for seconds in DEFAULT_LATENCY_SECONDS.values():
                assert f"{seconds * 1000:g} ms" in rule["body"]

    @pytest.mark.parametrize(
        "key",
        [
            "utilization-iops-peak",
            "utilization-read",
            "utilization-write",
            "utilization-connections",
        ],
    )
    def test_published_utilization_is_compared_with_the_ratio_itself(self, key: str) -> None:
        assert bounds(rule_queries(BY_KEY[key])["WARNING"]) == (WARNING_RATIO,)

    def test_failures_look_at_the_success_rate_alone(self) -> None:
        """SuccessRate and ErrorRate are streams of one metric; their mean would sit near 50."""
        for text in all_queries(BY_KEY["mount-target-failing"]):
            assert '{healthItem = "SuccessRate"}' in text

    def test_literals_on_failures_are_the_models_in_percent(self) -> None:
        for key, scale in (("mount-target-failing", 100), ("published-failing", 1)):
            queries = rule_queries(BY_KEY[key])
            assert literals(queries["WARNING"])[0] == scale * SUCCESS_WARNING_RATIO
            assert literals(queries["CRITICAL"])[0] == scale * SUCCESS_CRITICAL_RATIO

    def test_literals_on_published_latency_are_the_models(self) -> None:
        queries = rule_queries(BY_KEY["published-slow"])
        assert literals(queries["WARNING"])[0] == WARNING_RATIO
        assert literals(queries["CRITICAL"])[0] == LATENCY_CRITICAL_RATIO

    def test_replication_literals_are_intervals_of_the_default(self) -> None:
        alarm = BY_KEY["replication-age"]
        late = REPLICATION_WARNING_INTERVALS * REPLICATION_DEFAULT_INTERVAL_SECONDS
        assert bounds(rule_queries(alarm)["WARNING"]) == (late,)
        assert "120 minutes old or older, 2 times the interval of 60 minutes" in alarm.body["body"]

    def test_no_gauge_is_summed_up(self) -> None:
        counts = {"KerberosErrors", "LdapConnectionErrors", "LdapRequestErrors"}
        counts |= {name for name, metric in SERVICE_METRICS.items() if metric.statistic == "sum"}
        for alarm in PACK:
            for text in all_queries(alarm):
                for query in mql.queries(mql.parse(text)):
                    summed = any(stage.statistic.name == "sum" for stage in query.stages)
                    assert not summed or {metric.name for metric in mql.metrics(query)} <= counts, text


def spellings(label: str) -> Iterator[str]:
    """What a documented label may look like on the wire; no document has the strings."""
    words = re.split(r"[ /]", label)
    yield label
    yield label.capitalize()
    yield label.title()
    yield "".join(word.capitalize() for word in words)
    yield "_".join(words).upper()


class TestSuccessAmongErrors:
    """KerberosErrors and LdapConnectionErrors count successes too, and MQL has no negative selector."""

    def chosen(self, key: str, value: str) -> bool:
        (selector,), *_ = [metric.selectors for metric in mql.metrics(mql.parse(BY_KEY[key].body["query"]))]
        assert (selector.dimension, selector.operator) == ("errorType", "=~")
        return any(fnmatchcase(value, pattern) for pattern in selector.value.split("|"))

    @pytest.mark.parametrize(
        ("key", "label"),
        [
            *(("kerberos-errors", label) for label in ("no keytab", "no key", "key version mismatch", "clock skew")),
            *(
                ("ldap-errors", label)
                for label in (
                    "timeout",
                    "connection refused/reset",
                    "name resolution failure",
                    "bind login failed",
                    "certificate validation failure",
                )
            ),
        ],
    )
    def test_each_failure_counts_however_it_is_spelled(self, key: str, label: str) -> None:
        assert [spelling for spelling in spellings(label) if not self.chosen(key, spelling)] == []

    @pytest.mark.parametrize(
        ("key", "label"),
        [("kerberos-errors", "keytab load success"), ("ldap-errors", "connection success")],
    )
    def test_a_success_never_counts(self, key: str, label: str) -> None:
        assert [spelling for spelling in spellings(label) if self.chosen(key, spelling)] == []


class TestJoins:
    """No document gives an order of && and ||."""

    def test_a_mixture_of_and_and_or_has_parentheses(self) -> None:
        for alarm in PACK:
            for text in all_queries(alarm):
                depth, seen = 0, dict[int, set[str]]()
                for token in re.findall(r'"[^"]*"|\(|\)|&&|\|\|', text):
                    depth += {"(": 1, ")": -1}.get(token, 0)
                    if token in {"&&", "||"}:
                        seen.setdefault(depth, set()).add(token)
                assert all(len(tokens) == 1 for tokens in seen.values()), text

    def test_every_alarm_on_requests_has_a_floor(self) -> None:
        """Few requests, or a single event, are no alarm."""
        for key in ("mount-target-failing", "mount-target-slow", "published-failing", "published-slow"):
            for text in rule_queries(BY_KEY[key]).values():
                assert text.count("&&") == max(1, text.count("||") + 1), text
        minutes_with_requests = {"mount-target-failing": 5, "published-failing": 3, "published-slow": 3}
        for key, minutes in minutes_with_requests.items():
            assert all(text.endswith(f".count() >= {minutes}") for text in rule_queries(BY_KEY[key]).values()), key
        for key in ("kerberos-errors", "ldap-errors"):
            assert set(literals(rule_queries(BY_KEY[key])["WARNING"])) == {3.0}


class TestAbsence:
    @pytest.mark.parametrize("key", ["mount-target-data-missing", "poller-down"])
    def test_lasts_for_as_long_as_oci_allows(self, key: str) -> None:
        """After the detection period the alarm goes back to OK, which reads as an all-clear."""
        expression = mql.parse(BY_KEY[key].body["query"])
        assert isinstance(expression, Query)
        (stage,) = expression.stages
        assert stage.statistic == mql.Statistic("absent", 3 * 1440)
        # Without groupBy a dimension Oracle adds would look like one stream gone and another come.
        assert stage.group_by is not None


class TestEvaluation:
    def test_waits_for_data_that_come_three_to_five_minutes_late(self) -> None:
        """Published utilization is as late as its data, and a poll later."""
        for alarm in PACK:
            published = alarm.body["namespace"] == "fss_exporter"
            slack = "PT8M" if published else "PT5M"
            if alarm.key == "published-clients-hang":  # an agent posts at once
                slack = "PT3M"
            assert alarm.body["evaluationSlackDuration"] == slack


@pytest.mark.parametrize("file", QUERIES, ids=lambda file: file.stem)
def test_a_query_to_paste_is_one_line_that_parses_and_prints_back(file: Path) -> None:
    text = file.read_text()
    assert mql_text(mql.parse(text)) + "\n" == text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mount-target-iops", "iops"),
        ("mount-target-read", "read_bytes_per_second"),
        ("mount-target-write", "write_bytes_per_second"),
    ],
)
def test_a_query_in_percent_divides_by_a_hundredth_of_the_ceiling(name: str, kind: str) -> None:
    expression = mql.parse((MQL / "queries" / f"{name}-percent-standard.mql").read_text())
    assert isinstance(expression, mql.Arithmetic)
    assert mql_text(expression.left) == (MQL / "queries" / f"{name}.mql").read_text().strip()
    assert (expression.operator, expression.right) == ("/", mql.Constant(getattr(STANDARD.limits, kind) / 100))


def test_the_query_of_busy_mount_targets_counts_from_where_the_alarm_warns() -> None:
    text = (MQL / "queries" / "mount-targets-busy.mql").read_text()
    assert rule_queries(BY_KEY["mount-target-iops-peak-standard"])["WARNING"] in text
