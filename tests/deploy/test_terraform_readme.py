"""The tables of the Terraform module's README name every input and output, and no other."""

import re
from pathlib import Path

import pytest

MODULE = Path(__file__).parents[2] / "deploy/terraform"


@pytest.mark.parametrize(
    ("heading", "source", "keyword"),
    [("Inputs", "variables.tf", "variable"), ("Outputs", "outputs.tf", "output")],
)
def test_the_readme_lists_what_the_module_declares(heading: str, source: str, keyword: str) -> None:
    section = (MODULE / "README.md").read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    declared = re.findall(rf'^{keyword} "(\w+)"', (MODULE / source).read_text(), re.MULTILINE)

    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == declared
    assert declared


def test_a_default_in_the_readme_is_the_one_declared() -> None:
    text = (MODULE / "variables.tf").read_text()
    for name, _, default in re.findall(
        r"^\| `(\w+)` \|(.*)\| `?(.*?)`? \|$", (MODULE / "README.md").read_text(), re.MULTILINE
    ):
        body = re.search(rf'variable "{name}" {{\n(.*?)\n}}', text, re.DOTALL)
        if body:
            assert default == (re.findall(r"default\s+= (.*)", body[1]) or ["required"])[0], name
