"""Families of the catalogue are families of `prometheus_client`, and the text of prepared ones is the library's."""

import math
import subprocess

import pytest
from hypothesis import example, given, strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.utils import floatToGoString
from tests.exposition_text import collected, written
from tests.processes import require

from fss_exporter.catalogue import CATALOGUE, PreparedFamily, Series, family, histogram
from fss_exporter.catalogue.prepared import Collected, number

OPERATIONS = CATALOGUE["fss_client_operations_total"]


def test_promtool_has_no_finding_about_a_name_of_the_catalogue() -> None:
    page = "".join(
        f"# HELP {name} {declared.help_text}\n# TYPE {name} {'gauge' if declared.kind == 'info' else declared.kind}\n"
        + (
            f'{name}_bucket{{le="+Inf"}} 1\n{name}_sum 1\n{name}_count 1\n'
            if declared.kind == "histogram"
            else f"{name} 1\n"
        )
        for name, declared in CATALOGUE.items()
    )
    promtool = require("promtool", "prometheus")
    lint = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True, check=False)

    assert (lint.returncode, lint.stdout, lint.stderr) == (0, "", "")


@pytest.mark.parametrize("given", [("10.0.0.3",), ("a",) * 20])
def test_the_wrong_number_of_label_values_is_refused(given: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=f"{len(given)} label values for 7 labels"):
        family("fss_client_operations_total", [(given, 1.0)], labels=OPERATIONS.labels)
    with pytest.raises(ValueError, match=f"{len(given)} label values for 7 labels"):
        Series(OPERATIONS, given)


def test_values_in_another_order_than_the_catalogue_get_no_name_at_all() -> None:
    """Else the order of labels in a file decided which value gets which name."""
    mixed_up = ("address", "network")
    with pytest.raises(ValueError, match="values of address, network for the labels network, address"):
        family("fss_client_address_requests_total", [(("10.0.0.3", "lab"), 1.0)], labels=mixed_up)
    with pytest.raises(ValueError, match="for the labels network, address, operation"):
        histogram("fss_client_io_size_bytes", [], labels=(*mixed_up, "operation"))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("/a\x1b[31m", "/a\\\\x1b[31m"),
        ("\x00\r\x9b", "\\\\x00\\\\r\\\\x9b"),
        ("a\nb", "a\\nb"),
        ("a\u2028b\u2029", "a\\\\u2028b\\\\u2029"),
        ("/größe\u00a0x", "/größe\u00a0x"),
    ],
)
def test_a_terminal_that_shows_an_answer_meets_no_control_character_of_a_name(value: str, shown: str) -> None:
    address = ("lab", value, "READ")
    made = [
        family("fss_client_address_requests_total", [(address[:2], 1.0)], labels=("network", "address")),
        PreparedFamily(OPERATIONS, [Series(OPERATIONS, [value] * 7)], [1.0]),
        histogram(
            "fss_client_io_size_bytes", [(address, [(math.inf, 5)], 4)], labels=("network", "address", "operation")
        ),
    ]
    samples = [line for line in written(made).splitlines() if not line.startswith("#")]

    assert all(f'address="{shown}"' in line for line in samples)


def test_a_single_sample_is_no_histogram() -> None:
    with pytest.raises(ValueError, match="histogram"):
        family("fss_client_io_size_bytes", [(("10.0.0.3", "READ"), 1)])


def test_a_histogram_is_its_buckets_its_count_and_its_sum() -> None:
    sizes = histogram(
        "fss_client_io_size_bytes",
        [(("lab", "10.0.0.3", "READ"), [(32768.0, 2), (math.inf, 5)], 4_000_000)],
        labels=("network", "address", "operation"),
    )

    text = written([sizes])
    assert "# TYPE fss_client_io_size_bytes histogram\n" in text
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        'fss_client_io_size_bytes_bucket{address="10.0.0.3",le="32768.0",network="lab",operation="READ"} 2.0',
        'fss_client_io_size_bytes_bucket{address="10.0.0.3",le="+Inf",network="lab",operation="READ"} 5.0',
        'fss_client_io_size_bytes_count{address="10.0.0.3",network="lab",operation="READ"} 5.0',
        'fss_client_io_size_bytes_sum{address="10.0.0.3",network="lab",operation="READ"} 4e+06',
    ]


@given(st.one_of(st.integers(-(2**70), 2**70), st.floats(), st.integers(0, 10**7), st.floats(0, 1e9)))
@example(0)
@example(999_999)
@example(1_000_000)
@example(10**15 + 1)
@example(2**53 - 1)
@example(2**53)
@example(2**53 + 1)
@example(-1)
@example(-1_000_000)
@example(-1234567.5)
@example(-0.0)
@example(1e-7)
@example(1e16)
@example(1.5e22)
@example(123456.5)
@example(1234567.25)
@example(math.nan)
@example(math.inf)
@example(-math.inf)
def test_a_number_is_written_as_the_library_writes_it(value: float) -> None:
    assert number(value) == floatToGoString(value)


@given(st.lists(st.text(max_size=12), min_size=7, max_size=7), st.floats())
def test_a_prepared_family_is_for_any_reader_like_one_that_is_not_prepared(labels: list[str], value: float) -> None:
    prepared = PreparedFamily(OPERATIONS, [Series(OPERATIONS, labels)], [value])
    plain = family(OPERATIONS.name, [(labels, value)], labels=OPERATIONS.labels)

    assert (prepared.name, prepared.documentation, prepared.type, prepared.unit) == (
        plain.name,
        plain.documentation,
        plain.type,
        plain.unit,
    )
    assert generate_latest(Collected([prepared])) == generate_latest(Collected([plain]))
    text = b"".join(prepared.pieces())
    assert generate_latest(Collected([plain])).endswith(text)
    assert text.count(b"\n") == 1


def test_a_registry_gives_the_samples_of_a_prepared_family_by_name() -> None:
    family_of_one = PreparedFamily(OPERATIONS, [Series(OPERATIONS, "abcdefg")], [7.0])
    registry = CollectorRegistry(support_collectors_without_names=True)
    registry.register(Collected([family_of_one]))

    assert registry.get_sample_value(OPERATIONS.name, dict(zip(OPERATIONS.labels, "abcdefg", strict=True))) == 7.0
    assert collected(registry.restricted_registry([OPERATIONS.name])) == [family_of_one]
    assert collected(registry.restricted_registry(["fss_client"])) == []
