"""Failures in the log: one line when something begins to fail, one when it works again, however many calls it costs."""

import logging

from fss_exporter.errors import CloudError

_NAMED = 3  # how many of the things that failed are named in a line

log = logging.getLogger(__name__)

Kind = tuple[str, str, int | None]


class Complaints:
    """The failures of one round of work, told at its end.

    Args:
        region: where.
    """

    def __init__(self, region: str) -> None:
        self._region = region
        self._round: dict[Kind, tuple[list[str], Exception]] = {}
        self._told: dict[Kind, str] = {}

    def note(self, what: str, error: Exception | None) -> None:
        """One call ended: `error` is None where it went well."""
        if error is not None:
            named, _ = self._round.setdefault(_kind(what, error), ([], error))
            named.append(what)

    def close(self) -> None:
        """The round is over: tell what is new, and what is over."""
        for kind, (named, error) in self._round.items():
            if kind not in self._told:
                log.warning("%s: %s%s", self._region, _subject(named, error), error)
        for kind, text in self._told.items():
            if kind not in self._round:
                log.info("%s: %s works again", self._region, text)
        self._told = {kind: _listed(named) for kind, (named, _) in self._round.items()}
        self._round = {}


def _kind(what: str, error: Exception) -> Kind:
    """Calls of one operation that fail in one way are one matter."""
    if isinstance(error, CloudError):
        return error.operation, type(error).__name__, error.status
    return what, type(error).__name__, None


def _subject(named: list[str], error: Exception) -> str:
    """What failed, where the error does not say so itself."""
    return "" if isinstance(error, CloudError) and set(named) == {error.operation} else f"{_listed(named)}: "


def _listed(named: list[str]) -> str:
    distinct = list(dict.fromkeys(named))
    more = len(distinct) - _NAMED
    return ", ".join(distinct[:_NAMED]) + (f" and {more} more" if more > 0 else "")
