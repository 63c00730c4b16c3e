"""The alarm pack as shipped: every file is what OCI takes, its texts say what its query keeps, and the README lists it."""

import fnmatch
import json
import re
from pathlib import Path
from typing import Any

from oci.monitoring.models import AlarmOverride, CreateAlarmDetails
from tests.artefacts.shipped_alarms import MQL, PACK, QUERIES, all_queries
from tests.for_each import for_each
from tests.mql_text import mql_text
from tests.rules.pack import CORE_FILES, rules_of
from tools.alarm_files import rendered

from fss_exporter.model.limits import SHAPES, STANDARD
from fss_toolbox import mql
from fss_toolbox.alarms import pack

# Tag of an alarm with the Prometheus alert for the same fault, or with one for the warning and one for what is critical.
TWIN_TAG = "prometheus-alert"


def twins(alarm: pack.Alarm) -> dict[str, str]:
    """The Prometheus alert beside each rule of an alarm, by severity."""
    names = alarm.body["freeformTags"][TWIN_TAG].split(", ")
    severities = sorted((rule["severity"] for _, rule in alarm.rules()), reverse=True)
    return dict(zip(severities, names if len(names) == len(severities) else names * len(severities), strict=True))


FILES = sorted(file for folder in ("alarms", "other-services") for file in (MQL / folder).glob("*.json"))
RUNBOOK = " docs/runbook.md#"
OCIDS = {"ALARM_COMPARTMENT_OCID", "METRIC_COMPARTMENT_OCID", "TOPIC_OCID"} | {
    f"{name.upper().replace('-', '_')}_MOUNT_TARGET_OCIDS" for name in SHAPES if name != STANDARD.name
}

each_alarm = for_each("alarm", PACK)


class TestEveryFile:
    def test_has_the_name_its_alarm_displays(self) -> None:
        assert [file.stem for file in FILES] == [json.loads(file.read_text())["displayName"] for file in FILES]

    @for_each("file", FILES)
    def test_is_written_as_json_dumps_writes_it_so_that_diffs_stay_small(self, file: Path) -> None:
        text = file.read_text()
        assert json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n" == text

    @each_alarm
    def test_has_only_fields_the_sdk_knows(self, alarm: pack.Alarm) -> None:
        assert set(alarm.body) <= set(CreateAlarmDetails().attribute_map.values())
        for override in alarm.body.get("overrides", []):
            assert set(override) <= set(AlarmOverride().attribute_map.values())

    @each_alarm
    def test_has_placeholders_for_ocids_only(self, alarm: pack.Alarm) -> None:
        assert pack.placeholders(alarm) <= OCIDS
        assert {"ALARM_COMPARTMENT_OCID", "METRIC_COMPARTMENT_OCID", "TOPIC_OCID"} <= pack.placeholders(alarm)

    @each_alarm
    def test_carries_the_tags_by_which_it_is_ours(self, alarm: pack.Alarm) -> None:
        tags = alarm.body["freeformTags"]
        assert tags[pack.PACK_TAG] == "fss"
        assert alarm.name == f"fss-{tags[pack.KEY_TAG]}"

    @each_alarm
    def test_is_critical_by_an_override_that_is_evaluated_before_the_warning(self, alarm: pack.Alarm) -> None:
        assert [name for name, _ in alarm.rules()] in (["BASE"], ["CRITICAL", "BASE"])
        for override in alarm.body["overrides"]:
            assert alarm.body["severity"] == "WARNING"
            assert override["severity"] == "CRITICAL"
            assert override["pendingDuration"] == alarm.body["pendingDuration"]

    @each_alarm
    def test_sends_a_message_for_each_mount_target_where_a_grouped_one_would_hide_the_second(
        self, alarm: pack.Alarm
    ) -> None:
        """Tickets are grouped: a topic drops what exceeds sixty messages an evaluation. poller-down has one stream."""
        split = bool(alarm.body["overrides"])
        assert alarm.body["isNotificationsPerMetricDimensionEnabled"] is split

    def test_is_what_the_template_gives(self) -> None:
        assert {str(path): text for path, text in rendered().items()} == {
            f"{file.parent.name}/{file.name}": file.read_text() for file in FILES
        }, "run: make alarms"

    @each_alarm
    def test_groups_by_a_stable_dimension(self, alarm: pack.Alarm) -> None:
        for text in all_queries(alarm):
            for query in mql.queries(mql.parse(text)):
                assert query.stages[0].group_by is not None, text

    @each_alarm
    def test_prints_its_queries_as_the_builder_does(self, alarm: pack.Alarm) -> None:
        assert all(mql_text(mql.parse(text)) == text for text in all_queries(alarm))


class TestTexts:
    @each_alarm
    def test_link_to_the_runbook_of_the_twin(self, alarm: pack.Alarm) -> None:
        for _, rule in alarm.rules():
            assert rule["body"].endswith(f"{RUNBOOK}{twins(alarm)[rule['severity']].lower()}")

    @each_alarm
    def test_use_only_dimensions_the_query_keeps(self, alarm: pack.Alarm) -> None:
        kept = {
            dimension
            for query in mql.queries(mql.parse(alarm.body["query"]))
            for stage in query.stages
            if stage.group_by
            for dimension in stage.group_by
        }
        texts = [rule["body"] for _, rule in alarm.rules()]
        texts += [alarm.body["notificationTitle"], alarm.body["alarmSummary"]]
        assert {name for text in texts for name in re.findall(r"\{\{dimensions\.(\w+)\}\}", text)} <= kept

    @each_alarm
    def test_leave_no_brace_unclosed_and_fit_a_title(self, alarm: pack.Alarm) -> None:
        placeholder = r"\{\{(dimensions\.\w+|severity|metricValues)\}\}"
        assert "{{dimensions" not in alarm.body["notificationTitle"]
        texts = [rule["body"] for _, rule in alarm.rules()] + [alarm.body["alarmSummary"]]
        for text in [*texts, alarm.body["notificationTitle"]]:
            assert not re.search(r"[{}]", re.sub(placeholder, "", text))
        assert len(alarm.body["notificationTitle"]) < 150  # 250 with its variables filled in
        assert max(map(len, texts)) < 1000


class TestReadme:
    readme = (MQL / "README.md").read_text()

    def rows(self) -> dict[str, list[str]]:
        """The cells beside each file. A row names the files that are alike, with a star for each shape."""
        rows = [line.strip("| ").split(" | ") for line in self.readme.splitlines() if line.startswith("| `")]
        every = [*(f"{file.parent.name}/{file.name}" for file in FILES), *(f"${{{name}}}" for name in OCIDS)]
        return {
            name: cells[1:]
            for cells in rows
            for shown in re.findall("`([^`]+)`", cells[0])
            for name in (fnmatch.filter(every, shown) if "*" in shown else [shown])
        }

    def test_lists_every_alarm_and_no_other(self) -> None:
        listed = {name for name in self.rows() if not name.startswith("${")}
        assert listed == {f"{file.parent.name}/{file.name}" for file in FILES}

    def test_names_only_queries_that_are_there(self) -> None:
        assert set(re.findall(r"([\w-]+\.mql)`", self.readme)) <= {file.name for file in QUERIES}

    @each_alarm
    def test_names_the_twin_of_every_alarm(self, alarm: pack.Alarm) -> None:
        cells = next(cells for name, cells in self.rows().items() if name.endswith(f"/{alarm.name}.json"))
        assert all(f"`{twin}`" in cells[1] for twin in twins(alarm).values())

    @each_alarm
    def test_says_after_how_many_minutes_an_alarm_notifies(self, alarm: pack.Alarm) -> None:
        """The window until the query is true, the trigger delay and the evaluation slack."""
        query = next(mql.queries(mql.parse(alarm.body["query"])))
        assert isinstance(query.source, mql.QueriedMetric)
        interval = query.source.interval_minutes
        window = {"mean": interval - 1, "absent": interval}.get(query.stages[0].statistic.name, 1)
        waits = (int(alarm.body[name][2:-1]) for name in ("pendingDuration", "evaluationSlackDuration"))
        cells = next(cells for name, cells in self.rows().items() if name.endswith(f"/{alarm.name}.json"))
        assert cells[2] == str(window + sum(waits))
        assert cells[3]

    def test_explains_every_placeholder(self) -> None:
        assert {name[2:-1] for name in self.rows() if name.startswith("${")} == OCIDS


def test_every_alarm_names_a_twin_of_its_severity_that_is_among_the_prometheus_alerts() -> None:
    alerts = {(rule.name, rule.labels["severity"]) for path in CORE_FILES for rule in rules_of(path) if rule.is_alert}
    told = {(twin, severity.lower()) for alarm in PACK for severity, twin in twins(alarm).items()}
    # One client that waits is FssClientStalled in Prometheus, and a warning of the alarm about a mount target in OCI.
    assert told - alerts == {("FssMountTargetDown", "warning")}


def test_a_warning_of_latency_and_a_page_of_latency_have_twins_of_their_own() -> None:
    wanted = {"WARNING": "FssMountTargetLatencyHigh", "CRITICAL": "FssMountTargetSlow"}
    slow = [alarm for alarm in PACK if alarm.key in {"mount-target-slow", "published-slow"}]
    assert [twins(alarm) for alarm in slow] == [wanted, wanted]


def test_every_alarm_carries_the_same_fields_in_the_same_order() -> None:
    orders: set[tuple[Any, ...]] = {tuple(key for key in alarm.body if key != "overrides") for alarm in PACK}
    assert len(orders) == 1
