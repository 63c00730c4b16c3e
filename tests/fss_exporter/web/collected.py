"""One collection, held, as a scrape over HTTP gives it and as the library writes it."""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import choose_encoder
from tests.exposition_text import collected
from tests.fss_exporter.web.serving import serving

from fss_exporter.catalogue.prepared import Collected
from fss_exporter.cli.runtime import Component, registry_of
from fss_exporter.web.application import Reloading
from fss_exporter.web.collecting import Turns
from fss_exporter.web.refusals import Refusals
from fss_exporter.web.scrapes import Scrapes

OPENMETRICS = "application/openmetrics-text;version=1.0.0"


def held(components: Sequence[Component]) -> CollectorRegistry:
    """A registry whose collections are all one collection of the parts."""
    registry = CollectorRegistry(support_collectors_without_names=True)
    registry.register(Collected(collected(registry_of(components, Reloading(()), Refusals()))))
    return registry


def check_scrape(components: Sequence[Component]) -> str:
    """Compare a scrape of the parts with the library's text, byte for byte, and return the text."""
    registry = held(components)
    with serving(Scrapes(registry, Turns())) as server:
        plain = server.get("/metrics").body
        open_metrics = server.get("/metrics", headers={"Accept": OPENMETRICS}).body
        one = server.get("/metrics?name[]=process_open_fds").body
    assert plain == generate_latest(registry)
    assert open_metrics == choose_encoder(OPENMETRICS)[0](registry)
    assert one == generate_latest(registry.restricted_registry(["process_open_fds"]))
    return plain.decode()
