"""What the package imports is what pyproject.toml declares, no less and no more."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (ROOT / "exporter", ROOT / "toolbox")
OURS = {"fss_exporter", "fss_toolbox", "fss_kernel_counting"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements: list[str]) -> set[str]:
    return {normal(re.split(r"[\[<>=!~; ]", requirement)[0]) for requirement in requirements}


def imported() -> set[str]:
    """Distributions of all modules that some file of the package imports."""
    distributions = packages_distributions()
    modules = set()
    for path in (path for folder in PACKAGES for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                modules.add(node.module.partition(".")[0])
    foreign = modules - set(sys.stdlib_module_names) - OURS
    return {normal(name) for module in foreign for name in distributions[module]}


def test_every_import_is_declared_and_every_declaration_is_imported() -> None:
    wanted = declared(PROJECT["dependencies"]).union(*map(declared, PROJECT["optional-dependencies"].values()))
    assert imported() == wanted


def test_the_agent_needs_nothing_of_the_optional_part() -> None:
    assert declared(PROJECT["dependencies"]) & declared(PROJECT["optional-dependencies"]["oci"]) == set()
