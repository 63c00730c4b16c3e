"""`fss-exporter config check`, run as a command."""

import subprocess
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "deploy" / "fss-exporter.example.yml"


def check(path: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["fss-exporter", "config", "check", path], check=False, capture_output=True, text=True, timeout=120
    )


def test_a_correct_file_says_what_it_amounts_to() -> None:
    answer = check(EXAMPLE)
    assert answer.returncode == 0
    assert answer.stdout.splitlines()[0] == f"{EXAMPLE}: correct"
    assert "at most 5 calls a second" in answer.stdout


def test_mistakes_are_a_line_each_and_exit_with_2(tmp_path: Path) -> None:
    path = tmp_path / "bad.yml"
    path.write_text("oci:\n  auth: x\nlimit: {}\n")
    answer = check(path)
    assert answer.returncode == 2
    assert answer.stdout == ""
    lines = answer.stderr.splitlines()
    assert len(lines) == 2
    assert f"{path}: line 2: oci.auth" in lines[0]
    assert f"{path}: line 3: limit: unknown key. Did you mean limits?" in lines[1]


def test_no_key_material_is_read_or_shown(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("TOP-SECRET")
    path = tmp_path / "ok.yml"
    path.write_text(f"oci:\n  config_file: {key}\n")
    answer = check(path)
    assert answer.returncode == 0
    assert "TOP-SECRET" not in answer.stdout + answer.stderr
