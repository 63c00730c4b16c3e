"""The shipped alarm pack as the tests read it."""

from collections.abc import Iterator
from pathlib import Path

from fss_toolbox.alarms import pack

MQL = Path(__file__).parents[2] / "mql"
PACK = (*pack.load(MQL / "alarms"), *pack.load(MQL / "other-services"))
QUERIES = sorted((MQL / "queries").glob("*.mql"))


def all_queries(alarm: pack.Alarm) -> Iterator[str]:
    return (str(rule["query"]) for _, rule in alarm.rules())
