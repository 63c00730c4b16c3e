"""The whole client scrape of two looks at a fixture host, a second apart: `make golden` writes the file.

The host (tests/fixtures/procfs) is put together from recordings of a Linux 6.1 client: one export mounted five times
under three superblocks, an export with mixed work under a name with a space, an NFSv4.2 mount, a TLS forwarder. Its operator
says that the NFSv4.2 mount is one of Apsara NAS, and of which shape the mount target behind the forwarder is.
"""

from itertools import count
from pathlib import Path

from tests.exposition_text import written

from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.mount_services import Claim, Services
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.superblocks import Reading
from fss_exporter.nfs.ticker import Ticker

FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures"
GOLDEN = FIXTURES / "golden" / "client.prom"
CLAIMS = (
    Claim("apsara-nas", "capacity", 10_000 * 1024**3, address="10.80.3.30"),
    Claim("oci-fss", "standard", address="192.168.255.2"),
)


def scrape() -> str:
    """The exposition text after two ticks."""
    looks = iter(FIXTURES / "procfs" / look for look in ("first", "second"))
    clock = count(step=0.5)

    def read() -> Reading:
        return Procfs(next(looks), services=Services(CLAIMS)).read()

    ticker = Ticker(read, 1.0, lambda: float(next(clock)))
    ticker.tick()
    ticker.tick()
    collector = NfsCollector(ticker, zero_answers=0)
    return written(collector.collect())


if __name__ == "__main__":
    GOLDEN.write_text(scrape())
