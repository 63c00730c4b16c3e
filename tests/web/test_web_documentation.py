"""docs/web-configuration.md, held to the code."""

import re
import subprocess
from pathlib import Path

import pytest
from pydantic import BaseModel
from tests.processes import require
from tests.web.certificates import Authority

from fss_exporter.web import passwords
from fss_exporter.web.configuration import WebConfiguration
from fss_exporter.web.limits import Limits
from fss_exporter.web.protection import Protection

PAGE = (Path(__file__).parents[2] / "docs" / "web-configuration.md").read_text()
EXAMPLE, SCRAPE = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory with the files that the examples name."""
    authority = Authority(tmp_path)
    authority.sign("server")
    authority.sign("prometheus")
    (tmp_path / "fss-password").write_text("secret")
    return tmp_path


def test_the_example_is_a_web_configuration(files: Path) -> None:
    path = files / "web.yml"
    path.write_text(EXAMPLE)

    assert Protection(path).tls() is not None


def test_the_scrape_configuration_is_one(files: Path) -> None:
    path = files / "prometheus.yml"
    path.write_text(SCRAPE)

    subprocess.run([require("promtool", "prometheus"), "check", "config", str(path)], check=True, capture_output=True)


def keys(model: type[BaseModel], prefix: str = "") -> set[str]:
    found = set()
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found |= keys(inner, f"{prefix}{name}.")
        else:
            found.add(prefix + name)
    return found


def test_every_key_is_documented_and_no_other() -> None:
    table = PAGE.partition("## Keys")[2].partition("\n## ")[0]
    documented = {
        key for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for key in re.findall(r"`([^`]+)`", row)
    }

    assert documented == keys(WebConfiguration)


def test_the_limits_are_those_of_the_code() -> None:
    limits = Limits()
    section = " ".join(PAGE.partition("## Guessing and flooding")[2].split())

    assert limits.handshake_seconds == limits.head_seconds
    for sentence in (
        f"cut off after {limits.head_seconds:g} s",
        f"not taken after {limits.send_seconds:g} s",
        f"an idle connection after {limits.idle_seconds:g} s",
        f"At most {limits.connections} are open",
        f"{limits.unsent_bytes // 1024 // 1024} MiB are kept at most",
        f"{limits.head_bytes // 1024} KiB of head and {limits.body_bytes // 1024} KiB of body",
    ):
        assert sentence in section
    assert {8: "eight"}[passwords._WAITING] in section
