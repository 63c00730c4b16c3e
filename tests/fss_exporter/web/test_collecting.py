import logging
from collections.abc import Iterator

import pytest
from prometheus_client.core import Metric
from tests.exposition_text import collected

from fss_exporter import __version__
from fss_exporter.background import Worker
from fss_exporter.catalogue import family
from fss_exporter.errors import SourceError
from fss_exporter.web.collecting import Collectors


class Fake:
    """A source whose health a test chooses."""

    def __init__(self, row: str, failure: Exception | None = None) -> None:
        self.row = row
        self.failure = failure
        self.success = True
        self.duration_seconds = 0.25

    def collect(self) -> Iterator[Metric]:
        yield family(self.row, [((), 1.0)])
        if self.failure:
            raise self.failure


def values(collectors: Collectors) -> dict[tuple[str, str], float]:
    return {
        (sample.name, sample.labels.get("collector", "")): sample.value
        for collected in collected(collectors)
        for sample in collected.samples
    }


def test_each_source_is_kept_apart() -> None:
    sound, failing = Fake("fss_nfs_superblocks_unread"), Fake("fss_nfs_ticks_total")
    failing.success = False

    seen = values(Collectors({"nfs": sound, "oci": failing}))

    assert seen["fss_collector_success", "nfs"] == 1
    assert seen["fss_collector_success", "oci"] == 0
    assert seen["fss_collector_duration_seconds", "nfs"] == 0.25
    assert seen["fss_nfs_superblocks_unread", ""] == 1


def test_what_agent_and_poller_both_expect_is_one_family() -> None:
    class Part(Fake):
        """A source that sees a part."""

        def collect(self) -> Iterator[Metric]:
            yield family("fss_coverage_expected", [(("", "", self.row), 2.0)], labels=("tenancy", "region", "part"))

    made = collected(Collectors({"nfs": Part("mounts"), "oci": Part("metrics")}))
    (family_expected,) = [family for family in made if family.name == "fss_coverage_expected"]
    assert {sample.labels["part"] for sample in family_expected.samples} == {"mounts", "metrics"}


def test_each_loop_shows_its_errors_its_last_success_and_without_a_source_its_result_too() -> None:
    failures = [ValueError()] * 3

    def run_round() -> None:
        if failures:
            raise failures.pop()

    loop = Worker("web_config", run_round, interval=lambda: 15.0, clock=lambda: 0.0, wall_clock=lambda: 1.8e9)
    for _ in range(4):
        loop.run_once()

    seen = values(Collectors({"nfs": Fake("fss_nfs_superblocks_unread")}, (loop,), clock=lambda: 1.0))

    assert seen["fss_collector_success", "web_config"] == 1
    assert seen["fss_collector_errors_total", "web_config"] == 3
    assert seen["fss_collector_last_success_timestamp_seconds", "web_config"] == 1.8e9


def test_a_source_that_raises_keeps_what_it_had_and_costs_the_others_nothing() -> None:
    seen = values(
        Collectors({"oci": Fake("fss_nfs_ticks_total", RuntimeError("bug")), "nfs": Fake("fss_nfs_superblocks_unread")})
    )

    assert seen["fss_collector_success", "oci"] == 0
    assert seen["fss_nfs_ticks_total", ""] == 1
    assert seen["fss_collector_success", "nfs"] == 1


def test_a_failure_is_logged_once_and_its_end_as_well(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    fake = Fake("fss_nfs_superblocks_unread", SourceError("cannot read /proc/1/mountstats; run as root"))
    collectors = Collectors({"nfs": fake})

    for _ in range(3):
        values(collectors)
    fake.failure = None
    for _ in range(3):
        values(collectors)

    assert [record.message for record in caplog.records] == [
        "collector nfs failed: cannot read /proc/1/mountstats; run as root",
        "collector nfs works again",
    ]
    assert caplog.records[0].exc_info is None


def test_a_bug_is_logged_with_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    values(Collectors({"nfs": Fake("fss_nfs_superblocks_unread", ZeroDivisionError())}))

    assert caplog.records[0].exc_info is not None


def test_the_version_is_there_whatever_else_fails() -> None:
    (build,) = [made for made in collected(Collectors({})) if made.name == "fss_exporter_build"]

    assert build.samples[0].labels["version"] == __version__
    assert build.samples[0].value == 1


def test_a_refused_reload_shows_and_an_exporter_that_never_reloads_has_no_word_of_it() -> None:
    name = "fss_exporter_config_last_reload_successful"
    assert values(Collectors({}, last_reload=lambda: True))[name, ""] == 1
    assert values(Collectors({}, last_reload=lambda: False))[name, ""] == 0
    assert (name, "") not in values(Collectors({}))
