"""Files that are no configuration."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel
from tests.prompt import ask

from fss_exporter.errors import ConfigError
from fss_exporter.settings import Settings, load
from fss_exporter.web.web_config import WebConfiguration, load as load_web


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 2026-13-45", "line 1, column 4: not YAML: '2026-13-45' is not a valid timestamp"),
        ("a: 2026-01-01T25:61:00Z", "line 1, column 4: not YAML: '2026-01-01T25:61:00Z' is not a valid timestamp"),
        ("oci:\n  b: !!int abc", "line 2, column 6: not YAML: 'abc' is not a valid int"),
        ("a: !!float x", "line 1, column 4: not YAML: 'x' is not a valid float"),
        ("a: !!bool maybe", "line 1, column 4: not YAML: 'maybe' is not a valid bool"),
        ("a: !!int ''", "line 1, column 4: not YAML: '' is not a valid int"),
        ("a: !!timestamp soon", "line 1, column 4: not YAML: 'soon' is not a valid timestamp"),
        ("a: " + "9" * 5000, "is not a valid int"),
        ("? 2026-13-45\n: x", "line 1, column 3: not YAML: '2026-13-45' is not a valid timestamp"),
        ("a: " + "[" * 100_000, "nested too deep"),
        ("a: " + "{a: " * 100_000, "nested too deep"),
        ("- " * 100_000 + "x", "nested too deep"),
        ("? " * 100_000 + "x", "nested too deep"),
        ("a: &a [*a]", "line 1: a: unknown key"),
        ("&a a: {<<: *b}", "found undefined alias"),
        ("a: &a {<<: *a}", "line 1: a: unknown key"),
        ("? [a]\n: 1", "found unhashable key"),
        ("a: !!python/object/apply:os.system [x]", "could not determine a constructor"),
        ("a: 1\n---\nb: 2", "but found another document"),
        ("a: \x07", "not YAML"),
        ("- job_name: fss", "line 1: should be a mapping, as in {key: value}"),
        (
            "[DEFAULT]\nuser=ocid1.user.oc1..a",
            "line 1: not YAML. A file with the keys of OCI goes to --oci.config-file",
        ),
        ("\x00", "not YAML"),
    ],
)
def test_a_file_that_is_no_configuration_is_one_line_and_exit_code_2(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "c.yml"
    file.write_text(text)

    answer = ask("config", "check", file)

    assert answer.code == 2, answer.err
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_the_web_configuration_has_the_same_reader(tmp_path: Path) -> None:
    file = tmp_path / "web.yml"
    file.write_text("rate_limit: {burst: 2026-13-45}")
    with pytest.raises(ConfigError, match="'2026-13-45' is not a valid timestamp"):
        load_web(file)


def test_aliases_in_reason_are_read(tmp_path: Path) -> None:
    file = tmp_path / "c.yml"
    file.write_text(
        "limits:\n  mount_targets:\n    a: &usual {iops: 5, connections: 3}\n    b: *usual\n    c: {<<: *usual, iops: 9}\n"
    )
    limits = load(file).limits.mount_targets
    assert [limits[name].iops for name in "abc"] == [5, 5, 9]
    assert limits["c"].connections == 3


ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    float("nan"),
    "",
    "x",
    "\x1b",
    [],
    {},
    [[]],
    {"x": []},
    [None],
    {1: 2},
    {None: 1},
    "9" * 99,
)


def sections(model: Any) -> Iterator[tuple[str | int, ...]]:
    """The place of every setting below a model; `x` for the keys people choose, 0 for an item of a list."""
    origin = get_origin(model)
    if origin in {Union, UnionType}:
        for part in get_args(model):
            yield from sections(part)
    elif origin in {dict, tuple}:
        place = "x" if origin is dict else 0
        yield (place,)
        yield from ((place, *below) for below in sections(get_args(model)[origin is dict]))
    elif isinstance(model, type) and issubclass(model, BaseModel):
        for name, field in model.model_fields.items():
            yield (name,)
            yield from ((name, *below) for below in sections(field.annotation))
    elif origin is not None and get_args(model):
        yield from sections(get_args(model)[0])


@pytest.mark.parametrize("model", [Settings, WebConfiguration])
def test_no_value_anywhere_is_a_traceback(tmp_path: Path, model: type[BaseModel]) -> None:
    file = tmp_path / "c.yml"
    places = list(dict.fromkeys(sections(model)))
    assert len(places) > 15
    for place in places:
        for value in ODD:
            document: Any = value
            for part in reversed(place):
                document = [document] if part == 0 else {part: document}
            file.write_text(yaml.dump(document, Dumper=yaml.CSafeDumper))
            with suppress(ConfigError):
                load(file) if model is Settings else load_web(file)


def test_client_auth_type_as_a_list_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "web.yml"
    file.write_text("tls_server_config:\n  client_auth_type: []\n")
    with pytest.raises(ConfigError) as caught:
        load_web(file)
    place = f"{file}: line 2: tls_server_config.client_auth_type: "
    assert caught.value.lines[0].startswith(f"{place}should be 'NoClientCert'")
