"""The alarm pack as shipped: every file is what OCI takes, its texts say what its query keeps, and the README lists it."""

import fnmatch
import json
import re

from oci.monitoring.models import AlarmOverride, CreateAlarmDetails
from tests.artefacts.shipped_alarms import MQL, PACK, QUERIES, all_queries
from tests.mql_text import mql_text
from tests.rules.pack import CORE_FILES, rules_of
from tools.generate.alarm_files import rendered

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
PASTED = sorted(file for folder in ("alarms", "other-services") for file in (MQL / folder).glob("*.mql"))
OCIDS = {"ALARM_COMPARTMENT_OCID", "METRIC_COMPARTMENT_OCID", "TOPIC_OCID"} | {
    f"{name.upper().replace('-', '_')}_MOUNT_TARGET_OCIDS" for name in SHAPES if name != STANDARD.name
}


class TestEveryFile:
    def test_has_the_name_its_alarm_displays(self) -> None:
        assert [file.stem for file in FILES] == [json.loads(file.read_text())["displayName"] for file in FILES]

    def test_has_only_fields_the_sdk_knows(self) -> None:
        for alarm in PACK:
            assert set(alarm.body) <= set(CreateAlarmDetails().attribute_map.values()), alarm
            for override in alarm.body.get("overrides", []):
                assert set(override) <= set(AlarmOverride().attribute_map.values()), alarm

    def test_has_placeholders_for_ocids_only(self) -> None:
        for alarm in PACK:
            assert pack.placeholders(alarm) <= OCIDS, alarm
            assert pack.placeholders(alarm) >= {"ALARM_COMPARTMENT_OCID", "METRIC_COMPARTMENT_OCID", "TOPIC_OCID"}, (
                alarm
            )

    def test_carries_the_tags_by_which_it_is_ours(self) -> None:
        for alarm in PACK:
            tags = alarm.body["freeformTags"]
            assert tags[pack.PACK_TAG] == "fss", alarm
            assert alarm.name == f"fss-{tags[pack.KEY_TAG]}", alarm

    def test_is_critical_by_an_override_that_is_evaluated_before_the_warning(self) -> None:
        for alarm in PACK:
            assert [name for name, _ in alarm.rules()] in (["BASE"], ["CRITICAL", "BASE"]), alarm
            for override in alarm.body["overrides"]:
                assert alarm.body["severity"] == "WARNING", alarm
                assert override["severity"] == "CRITICAL", alarm
                assert override["pendingDuration"] == alarm.body["pendingDuration"], alarm

    def test_sends_a_message_for_each_mount_target_where_a_grouped_one_would_hide_the_second(
        self,
    ) -> None:
        """Tickets are grouped: a topic drops what exceeds sixty messages an evaluation. poller-down has one stream."""
        for alarm in PACK:
            split = bool(alarm.body["overrides"])
            assert alarm.body["isNotificationsPerMetricDimensionEnabled"] is split, alarm

    def test_repeats_in_hours_where_it_may_page_twice_a_day_where_it_does_not_and_never_for_missing_data(self) -> None:
        for alarm in PACK:
            critical = any(rule["severity"] == "CRITICAL" for rule in alarm.body["overrides"])
            missing = ".absent(" in alarm.body["query"]
            wanted = None if missing else "PT2H" if critical else "PT12H"
            assert alarm.body["repeatNotificationDuration"] == wanted, alarm

    def test_is_what_the_template_gives(self) -> None:
        assert {str(path): text for path, text in rendered().items()} == {
            f"{file.parent.name}/{file.name}": file.read_text() for file in (*FILES, *PASTED)
        }, "run: make alarms"

    def test_groups_by_a_stable_dimension(self) -> None:
        for alarm in PACK:
            for text in all_queries(alarm):
                for query in mql.queries(mql.parse(text)):
                    assert query.stages[0].group_by is not None, text

    def test_prints_its_queries_as_the_builder_does(self) -> None:
        for alarm in PACK:
            assert all(mql_text(mql.parse(text)) == text for text in all_queries(alarm)), alarm


class TestToPaste:
    """Beside each JSON stands an `.mql`: a comment with severity and delay, and the query for every resource, for each rule."""

    def test_each_rule_is_there_for_every_mount_target(self) -> None:
        assert [file.stem for file in PASTED] == [file.stem for file in FILES]
        for alarm in PACK:
            (file,) = (file for file in PASTED if file.stem == alarm.name)
            comments_then_query = re.findall(r"(?m)^# (\w+) after (\w+)\n([^#].*)$", file.read_text())
            rules = [(rule["severity"], rule["pendingDuration"], rule["query"]) for _, rule in alarm.rules()]
            for pasted, (severity, pending, query) in zip(comments_then_query, rules, strict=True):
                everywhere = re.sub(r'\{resourceId =~ "[^"]*"\}', "", query)
                assert pasted[:2] == (severity, pending), alarm
                assert mql.parse(pasted[2]) == mql.parse(everywhere), alarm

    def test_a_threshold_of_one_ceiling_says_whose(self) -> None:
        for file in PASTED:
            literal_ceiling = bool(
                re.search(r"(standard|hpmt-\d+|lustre-\w+|volume-iops|volume-bandwidth)$", file.stem)
            )
            assert ("others have another ceiling" in file.read_text()) == literal_ceiling, file


class TestTexts:
    def test_end_with_the_section_of_the_twin_in_a_runbook_that_was_given(self) -> None:
        for folder in ("alarms", "other-services"):
            for alarm in pack.load(MQL / "templates" / folder):
                for _, rule in alarm.rules():
                    assert rule["body"].endswith(
                        f" Next step: ${{RUNBOOK_URL}}#{twins(alarm)[rule['severity']].lower()}"
                    )

    def test_have_no_link_in_the_files_for_people_without_an_exporter(self) -> None:
        for alarm in PACK:
            for _, rule in alarm.rules():
                assert not re.search(r"#|runbook|Next step|\$", rule["body"]), alarm
                assert rule["body"].endswith("."), alarm

    def test_use_only_dimensions_the_query_keeps(self) -> None:
        for alarm in PACK:
            kept = {
                dimension
                for query in mql.queries(mql.parse(alarm.body["query"]))
                for stage in query.stages
                if stage.group_by
                for dimension in stage.group_by
            }
            texts = [rule["body"] for _, rule in alarm.rules()]
            texts += [alarm.body["notificationTitle"], alarm.body["alarmSummary"]]
            assert {name for text in texts for name in re.findall(r"\{\{dimensions\.(\w+)\}\}", text)} <= kept, alarm

    def test_say_which_of_five_minutes_are_compared_with_a_ceiling(self) -> None:
        words = {"max": "the highest minute of the last five", "mean": "on the mean of five minutes"}
        for alarm in PACK:
            query = mql.parse(alarm.body["query"])
            if "ceiling" in alarm.body["body"] and isinstance(query, mql.Comparison):
                (of_metric,) = mql.queries(query)
                if (statistic := of_metric.stages[0].statistic.name) in words:
                    assert words[statistic] in alarm.body["body"], alarm
                    assert [metric.interval_minutes for metric in mql.metrics(query)] == [5], alarm

    def test_compare_as_the_query_does(self) -> None:
        signs = {"fewer than": "<", "or less": "<=", "at or above": ">=", "or longer": ">=", "or older": ">="}
        for alarm in PACK:
            for _, rule in alarm.rules():
                said = [sign for words, sign in signs.items() if words in rule["body"]]
                assert said in ([], re.findall(r"\) ([<>]=?) ", rule["query"])[:1]), alarm

    def test_say_for_how_many_minutes_it_lasts(self) -> None:
        for alarm in PACK:
            for _, rule in alarm.rules():
                told = {f"PT{minutes}M" for minutes in re.findall(r"for (\d+) minutes", rule["body"])}
                assert ".absent(" in rule["query"] or told <= {rule["pendingDuration"]}, alarm

    def test_leave_no_brace_unclosed_and_fit_a_title(self) -> None:
        for alarm in PACK:
            placeholder = r"\{\{(dimensions\.\w+|severity|metricValues)\}\}"
            assert "{{dimensions" not in alarm.body["notificationTitle"], alarm
            texts = [rule["body"] for _, rule in alarm.rules()] + [alarm.body["alarmSummary"]]
            for text in [*texts, alarm.body["notificationTitle"]]:
                assert not re.search(r"[{}]", re.sub(placeholder, "", text)), alarm
            assert len(alarm.body["notificationTitle"]) < 150, alarm  # 250 with its variables filled in
            assert max(map(len, texts)) < 1000, alarm


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

    def test_names_the_twin_of_every_alarm(self) -> None:
        for alarm in PACK:
            cells = next(cells for name, cells in self.rows().items() if name.endswith(f"/{alarm.name}.json"))
            assert all(f"`{twin}`" in cells[1] for twin in twins(alarm).values()), alarm

    def test_says_after_how_many_minutes_an_alarm_notifies(self) -> None:
        """The window until the query is true, the trigger delay and the evaluation slack."""
        for alarm in PACK:
            query = next(mql.queries(mql.parse(alarm.body["query"])))
            assert isinstance(query.source, mql.QueriedMetric), alarm
            interval = query.source.interval_minutes
            window = {"mean": interval - 1, "absent": interval}.get(query.stages[0].statistic.name, 1)
            waits = (int(alarm.body[name][2:-1]) for name in ("pendingDuration", "evaluationSlackDuration"))
            cells = next(cells for name, cells in self.rows().items() if name.endswith(f"/{alarm.name}.json"))
            assert cells[2] == str(window + sum(waits)), alarm
            assert cells[3], alarm

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
