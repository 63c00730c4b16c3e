import math
import zlib
from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st
from prometheus_client import exposition
from prometheus_client.core import Metric, Sample
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS

from fss_exporter.catalogue import CATALOGUE, Declaration, PreparedFamily, Series, family, histogram
from fss_exporter.catalogue.prepared import Collected
from fss_exporter.web.exposition import negotiate, write

PLAIN = exposition.CONTENT_TYPE_PLAIN_0_0_4
PROMETHEUS_2_42 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;"
    "q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)
PROTOBUF_FIRST = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,"
    "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5"
)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param("", PLAIN, id="nothing said"),
        pytest.param("*/*", PLAIN, id="anything"),
        pytest.param("text/html", PLAIN, id="a browser"),
        pytest.param(PROMETHEUS_2_42, f"{OPENMETRICS}; escaping=underscores", id="prometheus 2.42"),
        pytest.param(PROMETHEUS_3, f"{OPENMETRICS}; escaping=allow-utf-8", id="prometheus 3"),
        pytest.param(PROTOBUF_FIRST, f"{OPENMETRICS}; escaping=underscores", id="protobuf preferred"),
        pytest.param("application/openmetrics-text", OPENMETRICS, id="openmetrics without version"),
        pytest.param(
            "text/plain;version=1.0.0;escaping=dots", f"{exposition.CONTENT_TYPE_PLAIN_1_0_0}; escaping=dots", id="dots"
        ),
        pytest.param(
            "application/openmetrics-text;version=9.9.9,text/plain", PLAIN, id="a version that does not exist"
        ),
        pytest.param(
            "application/openmetrics-text;version=2.0.0,application/openmetrics-text;version=1.0.0",
            f"{OPENMETRICS}; escaping=underscores",
            id="a version that the library names and does not write",
        ),
        pytest.param("application/openmetrics-text;version=0.0.1", PLAIN, id="a version before the first"),
        pytest.param("application/openmetrics-text;version=x", PLAIN, id="a version that is no number"),
        pytest.param(
            "application/openmetrics-text;version=2.\xe9\x7f", PLAIN, id="a version that no header can repeat"
        ),
        pytest.param("application/openmetrics-text; version= 1.0.0", PLAIN, id="a blank in the version"),
        pytest.param(";;=,,;q=,\x00", PLAIN, id="rubbish"),
    ],
)
def test_a_scraper_gets_the_format_that_the_library_chooses_among_those_that_it_writes(
    accept: str, expected: str
) -> None:
    assert negotiate(accept).content_type == expected


WRITTEN = (
    PLAIN,
    *(
        f"{content_type}; escaping={escaping}"
        for content_type in (exposition.CONTENT_TYPE_PLAIN_1_0_0, OPENMETRICS)
        for escaping in ("underscores", "allow-utf-8", "dots", "values")
    ),
    OPENMETRICS,
)


@settings(max_examples=settings().max_examples // 2)
@given(st.text() | st.from_regex(r"(application/openmetrics-text|text/plain)(; ?(version|escaping)=.*)*"))
def test_an_accept_header_of_any_kind_leads_to_one_of_few_formats(header: str) -> None:
    content_type = negotiate(header).content_type

    assert content_type in WRITTEN


def prepared(declared: Declaration, samples: Sequence[tuple[tuple[str, ...], float]]) -> PreparedFamily:
    return PreparedFamily(
        declared, [Series(declared, labels) for labels, _ in samples], [value for _, value in samples]
    )


values = st.one_of(st.integers(-(2**70), 2**70), st.floats(), st.integers(0, 10**7), st.floats(0, 1e9))


@st.composite
def collections(draw: st.DrawFn) -> list[Metric]:
    """Prepared and plain families of any rows of the catalogue, in any order."""
    made: list[Metric] = []
    for declared in draw(st.lists(st.sampled_from(sorted(CATALOGUE.values(), key=lambda row: row.name)), max_size=4)):
        labels = st.tuples(*(st.text(max_size=12) for _ in declared.labels))
        samples = draw(st.lists(st.tuples(labels, values), max_size=5))
        if declared.kind == "histogram":
            bounds = (32768.0, 1048576.0, math.inf)
            buckets = [(of, [(at, n) for at in bounds], n) for of, n in samples]
            made.append(histogram(declared.name, buckets, labels=declared.labels))
        else:
            plain = family(declared.name, samples, labels=declared.labels)
            made.append(prepared(declared, samples) if draw(st.booleans()) else plain)
    return made


@given(collections())
def test_each_format_is_what_the_library_writes_to_the_byte(some: list[Metric]) -> None:
    for content_type in WRITTEN:
        encode, _ = exposition.choose_encoder(content_type)

        assert write(some, negotiate(content_type), compress=False) == encode(Collected(some)), content_type


def some() -> list[Metric]:
    operations = CATALOGUE["fss_client_operations_total"]
    labels = ('a "quoted"\nname\\', *"bcdefgh"[: len(operations.labels) - 1])
    return [family("fss_nfs_superblocks_unread", (((), math.pi),)), prepared(operations, [(labels, 3)])]


@pytest.mark.parametrize("content_type", [PLAIN, OPENMETRICS])
def test_compression_changes_nothing_but_the_size(content_type: str) -> None:
    form = negotiate(content_type)

    assert zlib.decompress(write(some(), form, compress=True), wbits=31) == write(some(), form, compress=False)


@pytest.mark.parametrize("content_type", [PLAIN, OPENMETRICS])
@pytest.mark.parametrize("kind", ["plain", "prepared"])
def test_whatever_a_family_raises_costs_only_itself(content_type: str, kind: str) -> None:
    broken = Metric("fss_nfs_ticks", "Ticks.", "counter")
    if kind == "prepared":
        broken = PreparedFamily(CATALOGUE["fss_nfs_ticks_total"], some()[1].series, ["no number"])  # type: ignore[attr-defined,list-item]
    else:
        broken.samples = [Sample("fss_nfs_ticks_total", {}, "no number")]  # type: ignore[arg-type]
    form = negotiate(content_type)

    assert write([broken, *some()], form, compress=False) == write(some(), form, compress=False)


@pytest.mark.parametrize("kind", ["plain", "prepared"])
def test_a_family_that_cannot_be_encoded_costs_only_itself(kind: str) -> None:
    samples = [(("half a character: \udc80",), 1.0)]
    success = CATALOGUE["fss_collector_success"]
    broken = prepared(success, samples) if kind == "prepared" else family(success.name, samples, labels=["collector"])
    form = negotiate("")

    assert write([broken, *some()], form, compress=False) == write(some(), form, compress=False)
