"""docs/web-configuration.md, held to the code."""

import re
import subprocess
from pathlib import Path

import pytest
from pydantic import BaseModel
from tests.fss_exporter.web.certificates import Authority
from tests.processes import require

from fss_exporter import regular_files
from fss_exporter.web import application, http_server, one_at_a_time
from fss_exporter.web.http_server import ServerLimits
from fss_exporter.web.web_config import WebConfiguration
from fss_exporter.web.web_config_reload import WebConfigReload

PAGE = (Path(__file__).parents[3] / "docs" / "web-configuration.md").read_text()
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

    assert WebConfigReload(path).tls() is not None


def test_the_scrape_configuration_is_one(files: Path) -> None:
    path = files / "prometheus.yml"
    path.write_text(SCRAPE)

    subprocess.run([require("promtool", "prometheus"), "check", "config", str(path)], check=True, capture_output=True)


def keys(model: type[BaseModel], prefix: str = "") -> set[str]:
    names = set()
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            names |= keys(inner, f"{prefix}{name}.")
        else:
            names.add(prefix + name)
    return names


def test_every_key_is_documented_and_no_other() -> None:
    table = PAGE.partition("## Keys")[2].partition("\n## ")[0]
    documented = {
        key for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for key in re.findall(r"`([^`]+)`", row)
    }

    assert documented == keys(WebConfiguration)


def test_the_limits_are_those_of_the_code() -> None:
    limits = ServerLimits()
    section = " ".join(PAGE.partition("## Guessing and flooding")[2].split())

    for sentence in (
        f"cut off after {limits.request_seconds:g} s",
        f"response not taken after {limits.send_seconds:g} s",
        f"an idle connection after {limits.idle_seconds:g} s",
        f"At most {limits.connections} are open",
        f"not taken hold more than {limits.unsent_bytes >> 20} MiB",
        f"{http_server.HEAD_BYTES // 1024} KiB of head and {http_server.BODY_BYTES // 1024} KiB of body",
    ):
        assert sentence in section
    assert f"at most {one_at_a_time.MOST_WAITING} requests of each kind wait" in section
    assert f"waits longer than {one_at_a_time.WAIT_SECONDS:g} s" in section
    assert f"takes longer than {application._RELOAD_SECONDS:g} s" in section
    assert f"regular files of at most {regular_files.LARGEST_BYTES >> 20} MiB" in section
