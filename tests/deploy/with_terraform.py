"""`make test-terraform`: the real terraform formats the module and what is rendered.

Not among the default tests: terraform is no Debian package. `TERRAFORM` is its path. No provider is needed, and none is downloaded.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.fss_toolbox.plan.test_placed_lines import fleet
from tests.prompt import ROOT, ask

from fss_toolbox.plan.placed_lines import terraform as terraform_of


def terraform(*arguments: str, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [os.environ["TERRAFORM"], f"-chdir={folder}", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1", **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_module_is_formatted() -> None:
    assert terraform("fmt", "-check", "-recursive", folder=ROOT / "deploy" / "terraform") == ""


@pytest.mark.parametrize(
    "flags",
    [
        [],
        [
            "--compartment",
            "ocid1.compartment.oc1..storage",
            "--mount-target",
            "ocid1.mounttarget.oc1_fra.first=hpmt-20",
            "--published",
        ],
    ],
    ids=["with placeholders", "filled in"],
)
def test_terraform_fmt_leaves_the_rendered_file_alone(tmp_path: Path, flags: list[str]) -> None:
    assert ask("alarms", "render", "--output", "terraform", "--out", tmp_path, *flags).code == 0
    assert terraform("fmt", "-check", folder=tmp_path) == ""


def test_terraform_fmt_leaves_the_lines_of_a_placement_alone(tmp_path: Path) -> None:
    """Without the provider, terraform validates no arguments: tests/fss_toolbox/plan/test_placed_lines.py does."""
    path = '/${file("/etc/passwd")}%{ if true }"\\\n'
    hostile = fleet(addresses={"new-1": "10.0.0.9"}, path=path, domain='AD"\n}')
    for number, each in enumerate((fleet(), hostile)):
        (tmp_path / f"placement_{number}.tf").write_text(terraform_of(each))
    assert terraform("fmt", "-check", folder=tmp_path) == ""


def with_no_provider(text: str) -> str:
    """The resources as `terraform_data`, which terraform has built in, so that names and references can be validated."""
    text = re.sub(r"\b(?:data\.)?(oci_\w+)\.(\w+)\.", r"terraform_data.\1_\2.output.", text)
    text = re.sub(
        r"^(?:resource|data) \"(\w+)\" \"(\w+)\" {$",
        r'resource "terraform_data" "\1_\2" {\n  input = {',
        text,
        flags=re.MULTILINE,
    )
    text = text.replace("  export_options {", "  export_options = {")
    blocks = text.split("\n}\n")
    return "".join(f"{block}\n}}\n" + ("}\n" if "input = {" in block else "") for block in blocks if block.strip())


def test_terraform_finds_every_name_that_the_lines_of_a_placement_refer_to(tmp_path: Path) -> None:
    text = terraform_of(fleet())
    (tmp_path / "placement.tf").write_text(with_no_provider(text))
    terraform("init", "-backend=false", folder=tmp_path)
    assert "Success!" in terraform("validate", "-no-color", folder=tmp_path)
    (tmp_path / "placement.tf").write_text(with_no_provider(text.replace('"new_1"', '"new_2"')))
    with pytest.raises(AssertionError, match="Reference to undeclared resource"):
        terraform("validate", "-no-color", folder=tmp_path)
