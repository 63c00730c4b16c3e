"""A configuration that changes while the exporter runs: settings that need a restart are refused by every exporter."""

from functools import partial
from pathlib import Path

import pytest
from tests.exposition_text import collected
from tests.processes import wait_for
from tests.prompt import ROOT

from fss_exporter.cli.serve import ServeFlags, components_of, waiting_seconds
from fss_exporter.errors import ConfigError, UsageError
from fss_exporter.web.collecting import Source

COST = "cost_model: {operations: {LOOKUP: {io_operations: %s, date: 2026-11-01, source: test}}}\n"


@pytest.mark.parametrize("collect_nfs", [True, False])
@pytest.mark.parametrize("before", ["", COST % 2])
def test_a_changed_cost_model_takes_a_restart_with_and_without_the_agent(
    collect_nfs: bool, before: str, tmp_path: Path
) -> None:
    config = tmp_path / "fss-exporter.yml"
    config.write_text(f"oci: {{}}\n{before}")
    (tmp_path / "proc").mkdir()
    flags = ServeFlags(
        config_file=config, collect_oci=True, collect_nfs=collect_nfs, procfs=tmp_path / "proc", metadata_url=""
    )
    components = components_of(flags)
    config.write_text(f"oci: {{}}\n{COST % 3}")
    with pytest.raises(UsageError, match="cost_model has changed, which takes a restart"):
        components[0].reload()


def test_the_default_file_may_come_and_go_while_the_agent_runs(tmp_path: Path) -> None:
    config = tmp_path / "agent.yml"
    flags = ServeFlags(default_config_file=config, procfs=tmp_path, metadata_url="")
    assert flags.configuration() is None
    settings, agent, *_ = components_of(flags)

    config.write_text("latency_objectives: {metadata: 5ms}\n")
    for component in (settings, agent):
        component.reload()
    read = flags.configuration()
    assert read is not None
    assert read.latency_objectives.given

    config.unlink()
    settings.reload()
    assert flags.configuration() is None


def test_an_address_map_that_comes_with_the_default_file_takes_a_restart(tmp_path: Path) -> None:
    config = tmp_path / "agent.yml"
    settings, *_ = components_of(ServeFlags(default_config_file=config, procfs=tmp_path, metadata_url=""))
    config.write_text("address_map: {192.168.255.9: 10.80.2.20}\n")
    with pytest.raises(UsageError, match=r"agent.yml: address_map has changed, which takes a restart"):
        settings.reload()


def test_a_file_that_is_asked_for_wins_over_the_default_file(tmp_path: Path) -> None:
    default, asked = tmp_path / "agent.yml", tmp_path / "other.yml"
    default.write_text("rubbish")
    asked.write_text("latency_objectives: {metadata: 5ms}\n")
    read = ServeFlags(default_config_file=default, config_file=asked).configuration()
    assert read is not None
    assert read.latency_objectives.given


@pytest.mark.parametrize("kind", ["wrong", "folder", "dangling link"])
def test_a_default_file_that_is_there_and_cannot_be_used_is_a_mistake(kind: str, tmp_path: Path) -> None:
    config = tmp_path / "agent.yml"
    if kind == "wrong":
        config.write_text("rubbish: 1\n")
    elif kind == "folder":
        config.mkdir()
    else:
        config.symlink_to("nowhere")
    with pytest.raises(ConfigError, match=r"agent\.yml"):
        ServeFlags(default_config_file=config).configuration()


def test_a_poller_reads_a_changed_address_map_again(tmp_path: Path) -> None:
    config = tmp_path / "fss-exporter.yml"
    config.write_text("address_map: {192.168.255.9: 10.80.2.20}\n")
    components = components_of(ServeFlags(config_file=config, collect_oci=True, collect_nfs=False))
    config.write_text("address_map: {192.168.255.9: 10.80.2.21}\n")
    for put_in_force in [component.reload() for component in components]:
        put_in_force()


@pytest.mark.parametrize(
    ("flag_is_given", "collect_oci", "posts"), [(True, False, True), (False, False, False), (False, True, True)]
)
def test_an_agent_posts_if_the_flag_or_the_poller_beside_it_says_so(
    flag_is_given: bool, collect_oci: bool, posts: bool, tmp_path: Path
) -> None:
    """Agents share the configuration file with the poller."""
    config = tmp_path / "fss-exporter.yml"
    config.write_text("oci: {publish: true}\n")
    flags = ServeFlags(
        config_file=config,
        publish=flag_is_given,
        collect_oci=collect_oci,
        procfs=ROOT / "tests/fixtures/procfs/first",
        pid="1",
        metadata_url="",
    )
    assert ("client_publish" in {component.name for component in components_of(flags)}) is posts


def test_what_an_agent_posts_is_the_waiting_time_by_address() -> None:
    proc = ROOT / "tests/fixtures/procfs/first"
    _, agent = components_of(ServeFlags(procfs=proc, pid="1", metadata_url=""))
    agent.start()
    try:
        assert agent.page_source is not None
        waited = wait_for(partial(waiting_seconds, agent.page_source), "the first reading")
        assert waited
        assert set(waited.values()) == {0.0}
    finally:
        agent.stop()


def objectives(source: Source | None) -> set[float]:
    assert source is not None
    families = (family for family in collected(source) if family.name == "fss_client_latency_objective_seconds")
    return {sample.value for family in families for sample in family.samples}


def parts_expected(source: Source | None) -> set[str]:
    assert source is not None
    return {
        sample.labels["part"]
        for made in collected(source)
        if made.name == "fss_coverage_expected"
        for sample in made.samples
    }


def test_an_agent_reads_changed_latency_objectives_again(tmp_path: Path) -> None:
    config, proc = tmp_path / "fss-exporter.yml", ROOT / "tests/fixtures/procfs/first"
    config.write_text("latency_objectives: {metadata: 8ms}\n")
    settings, agent = components_of(ServeFlags(config_file=config, procfs=proc, pid="1", metadata_url=""))
    agent.start()
    try:
        config.write_text("latency_objectives: {metadata: 5ms, p99: {read: 50ms}}\n")
        for put_in_force in [component.reload() for component in (settings, agent)]:
            put_in_force()
        for source in (agent.source, agent.page_source):
            assert wait_for(partial(objectives, source), "the first reading") == {0.005}
            assert "p99_latency" in parts_expected(source)
    finally:
        agent.stop()


@pytest.mark.parametrize(
    ("text", "kept_in"),
    [
        ("oci: {}\n", Path("/var/lib/fss-exporter")),
        ("oci: {ledger_directory: /srv/own}\n", Path("/srv/own")),
        ("oci: {ledger_directory: null}\n", None),
    ],
)
def test_a_poller_keeps_its_counts_in_the_state_directory_of_its_unit_unless_the_file_says_where(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, kept_in: Path | None
) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/fss-exporter")
    file = tmp_path / "fss-exporter.yml"
    file.write_text(text, encoding="utf-8")

    poller = ServeFlags(config_file=file, collect_oci=True).configuration()

    assert poller is not None
    assert poller.oci.ledger_directory == kept_in
