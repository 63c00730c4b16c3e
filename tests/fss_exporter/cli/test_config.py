"""`fss-exporter config check`, at the prompt."""

from pathlib import Path

import pytest
from tests.prompt import Answer, ask, ask_process

EXAMPLE = Path(__file__).parents[3] / "deploy" / "fss-exporter.example.yml"


def check(path: Path, *flags: str) -> Answer:
    return ask("config", "check", path, *flags)


def test_a_correct_file_says_what_it_amounts_to() -> None:
    answer = check(EXAMPLE)
    assert answer.code == 0
    assert answer.out.splitlines()[0] == f"{EXAMPLE}: correct"
    assert "at most 5 calls a second" in answer.out


def test_a_region_that_the_sdk_does_not_know_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "typo.yml"
    path.write_text("oci: {regions: [eu-frankfrut-1, eu-zurich-1]}\n")
    answer = ask_process("config", "check", path)

    assert answer.code == 0
    assert "does not know the region eu-frankfrut-1. Did you mean eu-frankfurt-1?" in answer.err
    assert "eu-zurich-1" not in answer.err


def test_a_summary_names_all_that_decides_what_is_polled_and_how_it_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "all.yml"
    path.write_text(
        "oci: {include: {tags: {team: storage}}, exclude: {tags: {monitoring: 'off'}}}\n"
        "limits: observed\n"
        "latency_objectives: {metadata: 8ms, p99: {read: 100ms}}\n"
        "cost_model: {operations: {RENAME: {io_operations: 9, date: 2026-11-22, source: calibrate}}}\n"
        "services: [{service: lustre, address: 10.0.0.9}]\n"
    )
    said = check(path).out
    assert "mount targets: with the tags team=storage, without monitoring=off" in said
    assert "limits replaced: each shape by its observed ceiling" in said
    assert "latency objectives replaced: metadata; p99 of read" in said
    assert "costs replaced: RENAME" in said
    assert "mounts of other services: lustre" in said


def test_mistakes_are_a_line_each_and_exit_with_2(tmp_path: Path) -> None:
    path = tmp_path / "bad.yml"
    path.write_text("oci:\n  auth: x\nlimit: {}\n")
    answer = check(path)
    assert answer.code == 2
    assert answer.out == ""
    lines = answer.err.splitlines()
    assert len(lines) == 2
    assert f"{path}: line 2: oci.auth" in lines[0]
    assert f"{path}: line 3: limit: unknown key. Did you mean limits?" in lines[1]


def test_no_key_material_is_read_or_shown(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("TOP-SECRET")
    path = tmp_path / "ok.yml"
    path.write_text(f"oci:\n  config_file: {key}\n")
    answer = check(path)
    assert answer.code == 0
    assert "TOP-SECRET" not in answer.out + answer.err


def test_an_interval_that_serve_refuses_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "intervals.yml"
    path.write_text("oci:\n  intervals: {NoSuch: 2m, MountTargetIOPS: 10m}\n")
    answer = check(path)
    assert answer.code == 2
    assert "oci.intervals: NoSuch is no metric of the poller" in answer.err
    assert "oci.intervals: MountTargetIOPS judges each minute. Give at most 5m" in answer.err


@pytest.mark.parametrize("is_there", [True, False])
def test_a_ledger_directory_that_serve_refuses_is_a_mistake_on_this_host(is_there: bool, tmp_path: Path) -> None:
    directory = tmp_path / "ledger"
    if is_there:
        directory.write_text("a file")
    path = tmp_path / "ledger.yml"
    path.write_text(f"oci:\n  ledger_directory: {directory}\n")
    assert check(path).code == 0
    answer = check(path, "--on-this-host")
    assert answer.code == 2
    assert f"oci.ledger_directory: {directory} is not a directory in which this user may write" in answer.err
    directory.unlink(missing_ok=True)
    directory.mkdir()
    assert check(path, "--on-this-host").code == 0


def test_a_web_configuration_is_checked_as_serve_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "web.yml"
    path.write_text("tls_server_config: {cert_file: web.crt, key_file: web.key}\n")
    refused = check(path, "--web", "--on-this-host")
    assert (refused.code, "Give one of both" in refused.err) == (2, True)
    answer = check(path, "--web")
    assert (answer.code, answer.out) == (2, "")
    assert f"{tmp_path}/web.crt" in answer.err

    path.write_text("rubbish: 1\n")
    assert "rubbish: unknown key. Known keys: basic_auth_users" in check(path, "--web").err

    path.write_text("{}\n")
    answer = check(path, "--web")
    assert (answer.code, answer.out) == (0, f"{path}: correct\n")
