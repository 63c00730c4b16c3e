"""Pages of metrics as tests read them: strictly, with each series once. And the rows of the catalogue behind families."""

from collections import Counter
from collections.abc import Iterable

from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.openmetrics import exposition as openmetrics, parser as openmetrics_parser
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from fss_exporter.catalogue import CATALOGUE, Declaration
from fss_exporter.catalogue.prepared import Collected
from fss_exporter.web.exposition import negotiate, write

_BY_FAMILY = {declared.family_name: declared for declared in CATALOGUE.values()}
_READ: set[frozenset[tuple[str, ...]]] = set()  # names and labels of the series of pages that both parsers have read


def families_of(page: str) -> list[Metric]:
    """The families of a page in the text format. Fails if a family or a series stands there twice, or a line is no sample."""
    assert page.endswith("\n"), "the last line is cut off"
    lines = page.splitlines()
    _each_once(line.rpartition(" ")[0] for line in lines if line and line.startswith("# TYPE ") >= line.startswith("#"))
    return list(text_string_to_metric_families(page))


def collected(collector: Collector) -> list[Metric]:
    """The families of a collector, which OpenMetrics can show. Fails if a family or a series comes twice."""
    families = list(collector.collect())
    _read_once(families)
    return families


def written(families: Iterable[Metric]) -> str:
    """The text format. Fails as `collected` does."""
    families = list(families)
    _read_once(families)
    return write(families, negotiate(""), compress=False).decode()


def _read_once(families: list[Metric]) -> None:
    """Read a page in both formats. ValueError for what is none. Tests have thousands of pages that differ in values alone."""
    samples = [sample for family in families for sample in family.samples]
    _each_once([*(f"{sample.name}{sample.labels}" for sample in samples), *(family.name for family in families)])
    series = frozenset((sample.name, *sample.labels) for sample in samples)
    if series not in _READ:
        families_of(generate_latest(Collected(families)).decode() or "\n")
        text = openmetrics.generate_latest(Collected(families)).decode()
        assert list(openmetrics_parser.text_string_to_metric_families(text)) is not None
        _READ.add(series)


def _each_once(names: Iterable[str]) -> None:
    """The names of series and families. Count them here, because the parsers of the library let a series come twice."""
    counted = Counter(names)
    twice = [name for name, times in counted.items() if times > 1]
    assert not twice, f"twice on one page: {twice[:3]}"


def declaration(family: Metric) -> Declaration:
    """The row of the catalogue. KeyError for a family of the library itself."""
    return _BY_FAMILY[family.name]
