"""The queries of the alarm pack: every literal follows from the model, and they count what they are meant to."""

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tests.artefacts.shipped_alarms import MQL, PACK, QUERIES, all_queries

from fss_exporter.model.limits import SHAPES, STANDARD
from fss_exporter.model.thresholds import (
    CRITICAL_RATIO,
    LATENCY_CRITICAL_RATIO,
    LATENCY_OBJECTIVES,
    LATENCY_WARNING_RATIO,
    REPLICATION_CRITICAL_INTERVALS,
    REPLICATION_DEFAULT_INTERVAL_SECONDS,
    REPLICATION_WARNING_INTERVALS,
    SUCCESS_CRITICAL_RATIO,
    SUCCESS_WARNING_RATIO,
    WARNING_RATIO,
)
from fss_exporter.oci import mql
from fss_exporter.oci.alarms import fit, pack, subjects
from fss_exporter.oci.alarms.other_services import OTHER_CEILINGS, OtherCeiling
from fss_exporter.oci.mql import Comparison, Query
from fss_exporter.oci.service_metrics import SERVICE_METRICS

BY_KEY = {alarm.key: alarm for alarm in PACK}


def bounds(text: str) -> tuple[float, ...]:
    expression = mql.parse(text)
    assert isinstance(expression, Comparison), f"{text}: no single predicate"
    return expression.bounds


def rule_queries(alarm: pack.Alarm) -> dict[str, str]:
    return {rule["severity"]: rule["query"] for _, rule in alarm.rules()}


class TestCeilings:
    """MQL cannot divide by a limit gauge: ratio x ceiling is typed in, so it is computed here."""

    @pytest.mark.parametrize("ceiling", subjects.CEILINGS, ids=lambda ceiling: ceiling.kind)
    def test_literals_of_the_standard_shape_are_ratio_times_ceiling(self, ceiling: subjects.Ceiling) -> None:
        limit = ceiling.of(STANDARD.limits)
        assert limit is not None
        queries = rule_queries(BY_KEY[ceiling.key])
        assert bounds(queries["WARNING"]) == (fit.literal(WARNING_RATIO, limit),)
        assert bounds(queries["CRITICAL"]) == (fit.literal(CRITICAL_RATIO, limit),)

    @pytest.mark.parametrize("ceiling", subjects.CEILINGS, ids=lambda ceiling: ceiling.kind)
    def test_texts_state_share_threshold_and_ceiling(self, ceiling: subjects.Ceiling) -> None:
        limit = ceiling.of(STANDARD.limits)
        assert limit is not None
        alarm = BY_KEY[ceiling.key]
        for ratio, (_, rule) in zip((CRITICAL_RATIO, WARNING_RATIO), alarm.rules(), strict=True):
            for part in (ceiling.spell(ratio * limit), ceiling.spell(limit), f"{ratio:.0%}".replace("%", " %")):
                assert part in rule["body"]

    def test_every_published_ceiling_of_every_shape_has_a_file_and_no_other_has(self) -> None:
        """The file of another shape is the standard one, rescaled and narrowed; nothing else may differ."""
        kept = {alarm.key for alarm in PACK if alarm.key.startswith("mount-target-")}
        expected = {"mount-target-health", "mount-target-absent"}
        for ceiling in subjects.CEILINGS:
            for shape in SHAPES.values():
                limit = ceiling.of(shape.limits)
                if limit is None:
                    continue
                key = f"{ceiling.stem}-{shape.name}" if ceiling.per_shape else ceiling.stem
                expected.add(key)
                if key != ceiling.key:
                    assert BY_KEY[key] == as_shipped_for(ceiling, shape.name, limit)
        assert kept == expected

    def test_the_white_papers_iops_alarm_is_among_them(self) -> None:
        alarm = BY_KEY["mount-target-iops-standard"]
        assert alarm.body["query"] == "MountTargetIOPS[5m].groupBy(resourceId).max() >= 40000"
        assert alarm.body["pendingDuration"] == "PT10M"


class TestCeilingsOfOtherServices:
    """Figures of the documents: 40 TB of Lustre at 125 MB/s per TB, volumes of 10 VPU/GB from 1 TB up."""

    DOCUMENTED = (
        ("lustre-bandwidth", 125e6 * 40),
        ("lustre-space", 40e12),
        ("volume-iops", 25_000.0),
        ("volume-bandwidth", 480e6),
    )

    def test_the_files_are_made_for_what_they_say(self) -> None:
        assert [(ceiling.key, ceiling.stated) for ceiling in OTHER_CEILINGS] == list(self.DOCUMENTED)

    @pytest.mark.parametrize("ceiling", OTHER_CEILINGS, ids=lambda ceiling: ceiling.key)
    def test_every_literal_is_a_share_of_the_ceiling_over_five_minutes(self, ceiling: OtherCeiling) -> None:
        whole = ceiling.stated if ceiling.key == "lustre-space" else ceiling.stated * 300
        shares = (
            {"WARNING": 0.2, "CRITICAL": 0.05} if ceiling.key == "lustre-space" else {"WARNING": 0.8, "CRITICAL": 0.95}
        )
        for severity, text in rule_queries(BY_KEY[ceiling.key]).items():
            pairs = [[bound / whole for bound in stair] for stair in stairs(mql.parse(text))]
            share = shares[severity]
            quarters = [[share * part / 4 for part in pair] for pair in ((3, 1), (2, 2), (1, 3), (4,), (4,))]
            assert pairs == [pytest.approx(pair) for pair in (quarters if len(pairs) > 1 else [[share]])]

    @pytest.mark.parametrize("ceiling", OTHER_CEILINGS, ids=lambda ceiling: ceiling.key)
    def test_texts_state_threshold_and_ceiling(self, ceiling: OtherCeiling) -> None:
        for ratio, (_, rule) in zip(ceiling.ratios[1::-1], BY_KEY[ceiling.key].rules(), strict=True):
            whole = ceiling.compared(ceiling.stated)
            for part in (ceiling.spell(ratio * whole), ceiling.spell(whole), f"{ratio * 100:g} %"):
                assert part in rule["body"]


def stairs(expression: mql.Expression) -> Iterator[list[float]]:
    """Bounds of every alternative, those that have to hold together in one list."""
    match expression:
        case mql.Join(left=left, operator="||", right=right):
            yield from stairs(left)
            yield from stairs(right)
        case mql.Join(left=left, right=right):
            yield [bound for side in (left, right) for stair in stairs(side) for bound in stair]
        case mql.Comparison(bounds=found):
            yield list(found)


def as_shipped_for(ceiling: subjects.Ceiling, shape: str, limit: float) -> pack.Alarm:
    key = f"{ceiling.stem}-{shape}"
    standard = ceiling.of(STANDARD.limits)
    assert standard is not None
    placeholder = "${" + shape.upper().replace("-", "_") + "_MOUNT_TARGET_OCIDS}"
    alarm = fit.rescale(
        fit.narrow(fit.rekey(BY_KEY[ceiling.key], key), [placeholder]),
        old=standard,
        new=limit,
        ratios=(WARNING_RATIO, CRITICAL_RATIO),
        spell=ceiling.spell,
        words={"(standard)": f"({shape})"},
    )
    # several OCIDs go in there, joined by |
    text = json.dumps(alarm.body).replace(f'resourceId = \\"{placeholder}', f'resourceId =~ \\"{placeholder}')
    return pack.Alarm(key, json.loads(text))


class TestOtherThresholds:
    def test_every_latency_objective_has_its_alarm_and_every_such_alarm_its_objective(self) -> None:
        assert set(subjects.LATENCIES.values()) == set(LATENCY_OBJECTIVES)
        assert {key for key in BY_KEY if key.startswith("latency-")} == set(subjects.LATENCIES)

    @pytest.mark.parametrize("key", subjects.LATENCIES)
    def test_latency_literals_are_ratio_times_objective(self, key: str) -> None:
        objective = LATENCY_OBJECTIVES[subjects.LATENCIES[key]]
        queries = rule_queries(BY_KEY[key])
        assert bounds(queries["WARNING"]) == (fit.literal(LATENCY_WARNING_RATIO, objective.seconds),)
        assert bounds(queries["CRITICAL"]) == (fit.literal(LATENCY_CRITICAL_RATIO, objective.seconds),)
        for text in queries.values():
            assert (f'size = "{objective.size}"' in text) == bool(objective.size)
            assert objective.kind[1:] in text.lower()

    @pytest.mark.parametrize(
        "key", ["utilization-iops", "utilization-read", "utilization-write", "utilization-connections"]
    )
    def test_published_utilization_is_compared_with_the_ratios_themselves(self, key: str) -> None:
        queries = rule_queries(BY_KEY[key])
        assert bounds(queries["WARNING"]) == (WARNING_RATIO,)
        assert bounds(queries["CRITICAL"]) == (CRITICAL_RATIO,)

    def test_health_looks_at_the_success_rate_alone(self) -> None:
        """SuccessRate and ErrorRate are streams of one metric; their mean would sit near 50."""
        for text in all_queries(BY_KEY["mount-target-health"]):
            assert '{healthItem = "SuccessRate"}' in text

    def test_health_literals_are_the_models_in_percent(self) -> None:
        queries = rule_queries(BY_KEY["mount-target-health"])
        assert bounds(queries["WARNING"]) == (100 * SUCCESS_WARNING_RATIO,)
        assert bounds(queries["CRITICAL"]) == (100 * SUCCESS_CRITICAL_RATIO,)

    def test_replication_literals_are_intervals_of_the_default(self) -> None:
        queries = rule_queries(BY_KEY["replication-age"])
        assert bounds(queries["WARNING"]) == (REPLICATION_WARNING_INTERVALS * REPLICATION_DEFAULT_INTERVAL_SECONDS,)
        assert bounds(queries["CRITICAL"]) == (REPLICATION_CRITICAL_INTERVALS * REPLICATION_DEFAULT_INTERVAL_SECONDS,)

    def test_the_text_on_replications_is_what_rescaling_looks_for(self) -> None:
        for intervals, (_, rule) in zip((3, 2), BY_KEY["replication-age"].rules(), strict=True):
            spelled = subjects.spell_interval(intervals * REPLICATION_DEFAULT_INTERVAL_SECONDS)
            assert f"{spelled} old or older, {intervals} times the interval of 60 minutes" in rule["body"]

    def test_the_texts_on_latency_are_what_rescaling_looks_for(self) -> None:
        for key, which in subjects.LATENCIES.items():
            objective = LATENCY_OBJECTIVES[which].seconds
            body = BY_KEY[key].body["body"]
            assert subjects.spell_latency(LATENCY_WARNING_RATIO * objective) in body
            assert subjects.spell_latency(objective) in body

    def test_no_gauge_is_summed_up(self) -> None:
        counts = {"KerberosErrors", "LdapConnectionErrors", "LdapRequestErrors"}
        counts |= {name for name, metric in SERVICE_METRICS.items() if metric.statistic == "sum"}
        for alarm in PACK:
            for text in all_queries(alarm):
                for query in mql.queries(mql.parse(text)):
                    summed = any(stage.statistic.name == "sum" for stage in query.stages)
                    assert not summed or {metric.name for metric in mql.metrics(query)} <= counts, text


def spellings(label: str) -> Iterator[str]:
    """What a documented label may look like on the wire; nobody has published the strings."""
    words = re.split(r"[ /]", label)
    yield label
    yield label.capitalize()
    yield label.title()
    yield "".join(word.capitalize() for word in words)
    yield "_".join(words).upper()


class TestSuccessAmongErrors:
    """KerberosErrors and LdapConnectionErrors count successes too, and MQL has no negative selector."""

    def chosen(self, key: str, value: str) -> bool:
        ((selector,),) = [metric.selectors for metric in mql.metrics(mql.parse(BY_KEY[key].body["query"]))]
        assert (selector.dimension, selector.operator) == ("errorType", "=~")
        return any(fnmatchcase(value, pattern) for pattern in selector.value.split("|"))

    @pytest.mark.parametrize(
        ("key", "label"),
        [
            *(("kerberos-errors", label) for label in ("no keytab", "no key", "key version mismatch", "clock skew")),
            *(
                ("ldap-connection-errors", label)
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
        [("kerberos-errors", "keytab load success"), ("ldap-connection-errors", "connection success")],
    )
    def test_a_success_never_counts(self, key: str, label: str) -> None:
        assert [spelling for spelling in spellings(label) if self.chosen(key, spelling)] == []


class TestAbsence:
    @pytest.mark.parametrize("key", ["mount-target-absent", "utilization-absent"])
    def test_is_grouped_and_bounded(self, key: str) -> None:
        """Without groupBy a dimension Oracle adds would look like one stream gone and another come."""
        expression = mql.parse(BY_KEY[key].body["query"])
        assert isinstance(expression, Query)
        (stage,) = expression.stages
        assert stage.statistic.argument is not None
        assert stage.grouping is not None


@pytest.mark.parametrize("file", QUERIES, ids=lambda file: file.stem)
def test_a_query_to_paste_is_one_line_that_parses_and_prints_back(file: Path) -> None:
    text = file.read_text()
    assert str(mql.parse(text)) + "\n" == text


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
    assert str(expression.left) == (MQL / "queries" / f"{name}.mql").read_text().strip()
    assert (expression.operator, expression.right) == ("/", mql.Constant(getattr(STANDARD.limits, kind) / 100))


def test_the_query_of_busy_mount_targets_counts_from_where_the_alarm_warns() -> None:
    text = (MQL / "queries" / "mount-targets-busy.mql").read_text()
    assert rule_queries(BY_KEY["mount-target-iops-standard"])["WARNING"] in text
