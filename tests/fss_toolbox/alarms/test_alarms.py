"""From the pack to what there should be: what is refused, and what the rest becomes for the mount targets there are."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.fss_toolbox.alarms.alarm_inputs import FIRST, PACK, SCOPE, SECOND, target

from fss_exporter.errors import UsageError
from fss_exporter.model.limits import SHAPES, Limits
from fss_toolbox import mql
from fss_toolbox.alarms import pack, render
from fss_toolbox.alarms.desired import AlarmInputs, AlarmScope, Target, desired
from fss_toolbox.alarms.figures import CEILING_ALARMS, MOST_IDS


def wanted(*targets: Target, **inputs: Any) -> dict[str, pack.Alarm]:
    return {alarm.key: alarm for alarm in desired(PACK, SCOPE, AlarmInputs(targets, **inputs))}


def queries(alarm: pack.Alarm) -> list[str]:
    return [str(rule["query"]) for _, rule in alarm.rules()]


class TestReadingAFile:
    good: Mapping[str, Any] = PACK[0].body

    def read(self, **changed: Any) -> pack.Alarm:
        return pack.read("mine.json", json.dumps({**self.good, **changed}))

    @pytest.mark.parametrize("text", ["", "{", "[]", "null", '"alarm"', "{}"])
    def test_what_is_no_alarm_is_refused_with_the_name_of_the_file(self, text: str) -> None:
        with pytest.raises(UsageError, match=r"mine\.json"):
            pack.read("mine.json", text)

    def test_a_malformed_query_is_refused_with_its_column(self) -> None:
        with pytest.raises(UsageError, match=r"query: column 10: no such statistic(?s:.)*\^"):
            self.read(query="Iops[5m].maxi() > 3")

    def test_a_malformed_query_of_an_override_is_reported_as_such(self) -> None:
        with pytest.raises(UsageError, match=r"overrides\[CRITICAL\]\.query: column"):
            self.read(overrides=[{"ruleName": "CRITICAL", "query": "MountTargetIOPS[5m]"}])

    def test_an_unknown_metric_is_refused_with_the_likely_name(self) -> None:
        """A public alarm of this kind has been copied about; OCI takes it and it never fires."""
        with pytest.raises(UsageError, match=r"no metric MountTargetIops2. Did you mean MountTargetIOPS\?"):
            self.read(query="MountTargetIops2[5m].groupBy(resourceId).max() > 1")

    def test_another_spelling_of_a_metric_is_not_a_mistake(self) -> None:
        assert self.read(query="FileSystemReadRequestsBySize[5m].groupBy(resourceId).mean() > 1")

    @pytest.mark.parametrize(
        ("changed", "place"),
        [
            ({"query": "MountTargetIOPS[5m].max()"}, "query: an alarm needs a predicate"),
            ({"severity": "FATAL"}, "severity"),
            ({"pendingDuration": "PT2H"}, "pendingDuration"),
            ({"pendingDuration": "10m"}, "pendingDuration"),
            ({"destinations": []}, "destinations is missing"),
            ({"displayName": ""}, "displayName is missing"),
            ({"freeformTags": {}}, "fss-exporter-alarm is missing"),
            ({"overrides": [{"ruleName": "BASE", "severity": "CRITICAL"}]}, "not unique"),
            ({"notificationTitle": "slow: {{dimensions.resourceId}}"}, "may be too long for a title"),
            ({"notificationTitle": "{{metricValues}}"}, "may be too long for a title"),
            ({"notificationTitle": "x" * 251}, "longer than 250 characters"),
        ],
    )
    def test_what_oci_would_refuse_is_refused_before(self, changed: dict[str, Any], place: str) -> None:
        with pytest.raises(UsageError, match=place):
            self.read(**changed)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b'{"freeformTags": ["x"]}', "an alarm is a JSON object with tags"),
            (b'{"definedTags": ["x"]}', "an alarm is a JSON object with tags"),
            (b'{"definedTags": {"ops": "gold"}}', "an alarm is a JSON object with tags"),
            (b'{"overrides": 5}', "an alarm is a JSON object with tags"),
            (b'{"freeformTags": {"fss-exporter-alarm": ["k"]}}', "freeformTags.fss-exporter-alarm is missing"),
            (b"[" * 100_000, "not JSON"),
            (b"9" * 5_000, "not JSON"),
            (b"\xff", "not JSON"),
        ],
    )
    def test_a_file_that_is_no_alarm_is_refused_with_its_name(self, content: bytes, words: str, tmp_path: Path) -> None:
        (tmp_path / "odd.json").write_bytes(content)
        with pytest.raises(UsageError, match=rf"odd\.json(:1)?: .*{words}"):
            pack.load(tmp_path)

    def test_mistakes_of_all_files_are_reported_at_once(self, tmp_path: Path) -> None:
        (tmp_path / "one.json").write_text("{")
        (tmp_path / "two.json").write_text("[]")
        with pytest.raises(UsageError, match=r"one\.json:1: not JSON(?s:.)*two\.json: an alarm is a JSON object"):
            pack.load(tmp_path)

    def test_two_files_of_one_alarm_are_refused(self, tmp_path: Path) -> None:
        for name in ("one.json", "two.json"):
            (tmp_path / name).write_text(json.dumps(self.good))
        with pytest.raises(UsageError, match=f"fss-exporter-alarm: {PACK[0].key} is that of 2 files"):
            pack.load(tmp_path)

    def test_a_folder_without_alarms_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"no \*\.json file"):
            pack.load(tmp_path)


class TestWhatThereShouldBe:
    def test_without_mount_targets_the_standard_shape_is_watched_for_whatever_comes(self) -> None:
        alarms = wanted()
        assert alarms["mount-target-iops-peak-standard"].body["query"].startswith("MountTargetIOPS[5m].groupBy")
        assert not any("hpmt" in key for key in alarms)

    def test_without_mount_targets_a_configured_ceiling_of_the_standard_shape_holds(self) -> None:
        alarm = wanted(shape_limits={"standard": Limits(iops=100_000)})["mount-target-iops-peak-standard"]
        assert [query.rsplit(" ", 1)[1] for query in queries(alarm)] == ["80000"]
        assert "mount-target-read-standard" not in wanted(shape_limits={"standard": Limits(iops=100_000)})

    @pytest.mark.parametrize("published", [True, False])
    def test_every_alarm_on_a_ceiling_or_on_latency_warns_at_the_configured_share(self, *, published: bool) -> None:
        usual, own = (wanted(published=published, warning_ratio=ratio) for ratio in (0.8, 0.7))
        warn = [
            key
            for key in usual
            if re.match("mount-target-(iops|read|write|connections|slow)|utilization|published-slow|lustre|volume", key)
        ]
        changed = [key for key in usual if usual[key] != own[key]]
        assert sorted(changed) == sorted(set(warn) - {"lustre-inodes"})
        for key in changed:
            assert "80 %" in str(usual[key].body)
            assert "80 %" not in str(own[key].body)

    def test_an_alarm_with_one_ceiling_for_all_names_no_resource_and_covers_future_resources(self) -> None:
        alarms = wanted(target(FIRST), target(SECOND))
        for query in queries(alarms["mount-target-iops-peak-standard"]):
            assert "resourceId =" not in query

    def test_resources_chosen_by_tags_are_named_because_others_have_other_ceilings(self) -> None:
        alarms = wanted(target(FIRST), chosen_by_tags=True, replications={SECOND: 3600.0})
        for key in ("mount-target-iops-peak-standard", "mount-target-read-standard", "mount-target-connections"):
            assert f'{{resourceId = "{FIRST}"}}' in queries(alarms[key])[0]
        assert f'{{resourceId = "{SECOND}"}}' in queries(alarms["replication-age"])[0]

    def test_tags_that_choose_nothing_make_no_alarm_that_watches_everything(self) -> None:
        keys = wanted(chosen_by_tags=True).keys()
        assert not [key for key in keys if key.startswith((*CEILING_ALARMS, "replication-age"))]

    def test_where_shapes_differ_each_alarm_names_its_mount_targets(self) -> None:
        alarms = wanted(target(FIRST), target(SECOND, "hpmt-20"))
        for query in queries(alarms["mount-target-read-standard"]):
            assert f'{{resourceId = "{FIRST}"}}' in query
        assert queries(alarms["mount-target-read-hpmt-20"]) == [
            f'MountTargetReadThroughput[5m]{{resourceId = "{SECOND}"}}.groupBy(resourceId).mean() >= 2000000000',
        ]

    def test_a_configured_ceiling_of_a_shape_makes_its_alarm(self) -> None:
        ceilings = Limits(200_000, 5e9, None, 100_000)
        alarms = wanted(Target(FIRST, "hpmt-40", ceilings), shape_limits={"hpmt-40": ceilings})
        alarm = alarms["mount-target-iops-peak-hpmt-40"]
        assert queries(alarm) == ["MountTargetIOPS[5m].groupBy(resourceId).max() >= 160000"]
        assert "or above 160,000 IOPS" in alarm.body["body"]
        assert "80 % of the ceiling of 200,000 IOPS (hpmt-40)" in alarm.body["body"]
        assert "(hpmt-40)" in alarm.body["notificationTitle"]
        assert alarm.body["alarmSummary"].endswith("The ceiling is 200,000 IOPS.")

    def test_a_ceiling_of_one_mount_target_produces_an_alarm_of_its_own(self) -> None:
        alarms = wanted(target(FIRST), target(SECOND, iops=80_000))
        assert queries(alarms["mount-target-iops-peak-standard"])[0].endswith(">= 40000")
        own = alarms["mount-target-iops-peak-standard-80000"]
        assert queries(own)[0] == f'MountTargetIOPS[5m]{{resourceId = "{SECOND}"}}.groupBy(resourceId).max() >= 64000'
        assert own.name == "fss-mount-target-iops-peak-standard-80000"
        assert "50,000" not in json.dumps(own.body)

    def test_connections_are_the_same_for_every_shape_and_stay_one_alarm(self) -> None:
        alarms = wanted(target(FIRST), target(SECOND, "hpmt-80"))
        assert [key for key in alarms if "connections" in key] == ["mount-target-connections"]

    def test_another_latency_objective_changes_literals_and_texts(self) -> None:
        alarm = wanted(objectives={("read", "0B_to_8KiB"): 0.002})["mount-target-slow"]
        critical, warning = queries(alarm)
        assert '{size = "0B_to_8KiB"}.groupBy(mountTargetId, resourceId).mean() >= 0.002 && ' in critical
        assert '{size = "0B_to_8KiB"}.groupBy(mountTargetId, resourceId).mean() >= 0.0016 && ' in warning
        assert "reads up to 8 KiB 2 ms, reads of 8 to 64 KiB 15 ms" in alarm.body["body"]

    def test_replications_of_one_interval_are_watched_without_being_named(self) -> None:
        assert "resourceId =" not in queries(wanted(replications={FIRST: 3600.0})["replication-age"])[0]

    def test_each_interval_of_replications_has_an_alarm_of_its_own(self) -> None:
        alarms = wanted(replications={FIRST: 3600.0, SECOND: 900.0})
        assert [key for key in alarms if key.startswith("replication")] == ["replication-age", "replication-age-15m"]
        assert [query.rsplit(" ", 1)[1] for query in queries(alarms["replication-age-15m"])] == ["1800"]
        assert f'{{resourceId = "{SECOND}"}}' in queries(alarms["replication-age-15m"])[0]
        assert (
            "30 minutes old or older, 2 times the interval of 15 minutes" in alarms["replication-age-15m"].body["body"]
        )

    def test_utilization_is_watched_only_where_it_is_published(self) -> None:
        assert not [key for key in wanted() if key.startswith("utilization")]
        published = wanted(published=True)
        assert {key for key in published if key.startswith("utilization")} == {
            f"utilization-{what}" for what in ("connections", "iops-peak", "read", "write")
        }
        assert "poller-down" in published

    def test_published_metrics_take_the_place_of_the_alarms_on_ceilings_latency_and_success(self) -> None:
        """One incident is one alarm."""
        published, plain = wanted(published=True), wanted()
        replaced = (*CEILING_ALARMS, "mount-target-slow", "mount-target-failing")
        assert not [key for key in published if key.startswith(replaced)]
        assert {key for key in plain if not key.startswith(replaced)} < set(published)

    def test_links_lead_to_the_runbook_one_names(self) -> None:
        scope = AlarmScope("ocid1.a", "ocid1.m", ("ocid1.t",), runbook="https://wiki.example.com/fss")
        for alarm in desired(PACK, scope, AlarmInputs(published=True)):
            for _, rule in alarm.rules():
                assert "docs/runbook.md" not in rule["body"]
                assert " https://wiki.example.com/fss#fss" in rule["body"]

    def test_metrics_are_named_as_the_tenancy_spells_them(self) -> None:
        alarm = wanted(spellings={"mounttargetiops": "mountTargetIops"})["mount-target-iops-peak-standard"]
        assert all(query.startswith("mountTargetIops[5m]") for query in queries(alarm))

    def test_a_failure_the_patterns_miss_is_added_and_a_success_is_not(self) -> None:
        seen = {"KerberosErrors": ["Keytab Load Success", "Clock Skew", "PAC refused", 'evil"} || x']}
        (query,) = queries(wanted(error_types=seen)["kerberos-errors"])
        assert query.split('"')[1].split("|")[-3:] == ["*SKEW*", "PAC refused", "evil*} ** x"]

    def test_an_error_type_that_looks_like_a_placeholder_is_none(self) -> None:
        seen = {"KerberosErrors": ["${ABC}", "$", "|||", "%{x}"]}
        alarm = wanted(error_types=seen)["kerberos-errors"]
        assert not pack.placeholders(alarm)
        (query,) = queries(alarm)
        assert query.split('"')[1].split("|")[-3:] == ["*SKEW*", "*{ABC}", "%{x}"]
        assert "ABC" not in render.terraform([alarm]).split("query")[0]
        assert "var." not in render.terraform([alarm])

    def test_more_mount_targets_than_a_query_may_name_are_split(self) -> None:
        many = [target(f"ocid1.mounttarget.oc1_fra.{number:03}") for number in range(2 * MOST_IDS + 1)]
        alarms = wanted(*many, target(SECOND, "hpmt-20"))
        keys = [key for key in alarms if key.startswith("mount-target-iops-peak")]
        assert keys == [f"mount-target-iops-peak-standard{part}" for part in ("", "-part-2", "-part-3")]

    def test_every_alarm_goes_where_the_scope_says(self) -> None:
        scope = AlarmScope(
            "ocid1.a", "ocid1.tenancy.oc1..t", ("ocid1.topic", "ocid1.stream"), in_subtree=True, name="prod"
        )
        for alarm in desired(PACK, scope, AlarmInputs()):
            assert not pack.placeholders(alarm)
            assert alarm.body["destinations"] == ["ocid1.topic", "ocid1.stream"]
            assert alarm.body["metricCompartmentIdInSubtree"] is True
            assert alarm.name == f"prod-{alarm.key}"
            assert alarm.body["freeformTags"][pack.PACK_TAG] == "prod"

    def test_an_alarm_of_ones_own_is_kept_whatever_its_name_begins_with(self) -> None:
        own = pack.Alarm("mount-target-iops-of-mine", {**PACK[0].body, "displayName": "fss-mount-target-iops-of-mine"})
        kept = desired([*PACK, own], SCOPE, AlarmInputs([target(FIRST)]))
        assert "mount-target-iops-of-mine" in {alarm.key for alarm in kept}

    limits = st.builds(
        Limits,
        st.none() | st.integers(1_000, 1_000_000),
        st.none() | st.integers(1, 100).map(lambda n: n * 1e8),
        st.none() | st.integers(1, 100).map(lambda n: n * 1e8),
        st.none() | st.integers(10, 200_000),
    )

    @given(st.lists(st.tuples(st.sampled_from(sorted(SHAPES)), limits), min_size=1, max_size=6))
    def test_every_ceiling_of_every_mount_target_is_watched_exactly_once(
        self, inputs: list[tuple[str, Limits]]
    ) -> None:
        targets = [Target(f"ocid1.mounttarget.x{n}", shape, limits) for n, (shape, limits) in enumerate(inputs)]
        alarms = desired(PACK, SCOPE, AlarmInputs(targets))
        assert len({alarm.key for alarm in alarms}) == len(alarms)
        assert [mistake for alarm in alarms for mistake in pack.check(alarm)] == []
        for ceiling in CEILING_ALARMS.values():
            ours = [alarm for alarm in alarms if alarm.key.startswith(ceiling.key)]
            for estate_target in targets:
                watching = [alarm for alarm in ours if selects(alarm, estate_target.ocid)]
                value = ceiling.of(estate_target.limits)
                assert len(watching) == (value is not None)
                for alarm in watching:
                    assert bounds(alarm) == pytest.approx([0.8 * (value or 0)])


def selects(alarm: pack.Alarm, ocid: str) -> bool:
    (metric,) = mql.metrics(mql.parse(alarm.body["query"]))
    return all(ocid in selector.value.split("|") for selector in metric.selectors)


def bounds(alarm: pack.Alarm) -> list[float]:
    parsed = [mql.parse(query) for query in queries(alarm)]
    return [expression.bounds[0] for expression in parsed if isinstance(expression, mql.Comparison)]


def test_ceilings_that_differ_by_a_fraction_have_alarms_of_their_own() -> None:
    alarms = desired(PACK, SCOPE, AlarmInputs((target(FIRST, iops=1000.2), target(SECOND, iops=1000.4))))
    keys = [alarm.key for alarm in alarms]
    assert len(set(keys)) == len(keys), "two alarms of one key would delete each other in turn"
    assert "mount-target-iops-peak-standard-1000.4" in keys
