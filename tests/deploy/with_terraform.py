"""`make test-terraform`: the real terraform formats what is rendered, and plans the alarms of the module's pack.

Not among the default tests: terraform is no Debian package. `TERRAFORM` is its path. No provider is needed, and none is downloaded.
"""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.fss_toolbox.plan.test_placed_lines import fleet
from tests.prompt import ROOT, ask

from fss_exporter.model.limits import SHAPES
from fss_toolbox import mql
from fss_toolbox.alarms import pack
from fss_toolbox.alarms.desired import AlarmScope, Estate, Target, desired
from fss_toolbox.plan.placed_lines import terraform as terraform_of

PACK = pack.load(ROOT / "mql" / "templates" / "alarms")
FIRST, SECOND, THIRD = (f"ocid1.mounttarget.oc1_fra.{name}" for name in ("first", "second", "third"))


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
    [[], ["--compartment", "ocid1.compartment.oc1..storage", "--mount-target", f"{FIRST}=hpmt-20", "--published"]],
    ids=["with placeholders", "filled in"],
)
def test_terraform_fmt_leaves_the_rendered_file_alone(tmp_path: Path, flags: list[str]) -> None:
    assert ask("alarms", "render", "--format", "terraform", "--output", tmp_path, *flags).code == 0
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


def planned(tmp_path: Path, **variables: Any) -> dict[str, Any]:
    """The pack's output as terraform plans it."""
    folder = ROOT / "deploy" / "terraform" / "pack"
    values = tmp_path / "values.tfvars.json"
    values.write_text(json.dumps(variables))
    data = {"TF_DATA_DIR": str(tmp_path / "data")}
    terraform("init", "-backend=false", folder=folder, **data)
    plan = tmp_path / "plan"
    terraform("plan", f"-var-file={values}", f"-out={plan}", f"-state={tmp_path / 'state'}", folder=folder, **data)
    shown = json.loads(terraform("show", "-json", str(plan), folder=folder, **data))
    alarms: dict[str, Any] = shown["planned_values"]["outputs"]["alarms"]["value"]
    return alarms


LEFT_TO_THE_CALLER = ("compartmentId", "metricCompartmentId", "metricCompartmentIdInSubtree", "destinations")


def comparable(body: dict[str, Any]) -> dict[str, Any]:
    """Without what the caller fills in, and with queries as trees, one alternative being an equality."""
    kept = {name: value for name, value in body.items() if name not in LEFT_TO_THE_CALLER}
    for rule in (kept, *kept.get("overrides", ())):
        rule["query"] = mql.parse(rule["query"].replace('resourceId =~ "', 'resourceId = "'))
    return kept


@pytest.mark.parametrize(
    ("shapes", "published"),
    [
        ({}, False),
        ({FIRST: "standard", SECOND: "standard"}, True),
        ({FIRST: "standard", SECOND: "standard", THIRD: "hpmt-40"}, False),
        ({FIRST: "hpmt-20", SECOND: "hpmt-80"}, True),
    ],
)
def test_the_module_wants_the_same_alarms_as_the_provisioner(
    tmp_path: Path, shapes: dict[str, str], published: bool
) -> None:
    by_shape: dict[str, list[str]] = {}
    for ocid, shape in shapes.items():
        by_shape.setdefault(shape, []).append(ocid)
    answer = planned(tmp_path, mount_targets=by_shape, published=published, name="prod")
    targets = [Target(ocid, shape, SHAPES[shape].limits) for ocid, shape in shapes.items()]
    wanted = desired(PACK, AlarmScope("", "", (), name="prod"), Estate(targets, published=published))
    assert {key: comparable(body) for key, body in answer.items()} == {
        alarm.key: comparable(json.loads(json.dumps(alarm.body))) for alarm in wanted
    }
