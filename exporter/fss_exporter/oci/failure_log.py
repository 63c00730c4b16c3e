"""Log the failed calls of one region: a line when a kind of call begins to fail, and a line when the failure ends."""

import logging

from fss_exporter.errors import CloudError
from fss_exporter.log_once import LogOnce

_NAMED = 3  # so many of the subjects that failed are named in a line


class FailureLog:
    """Failures by round. Calls of one operation with equal errors are one kind, for any number of metrics.

    Args:
        region: name of the region, at the beginning of each line.
        log: logger of the lines.
    """

    def __init__(self, region: str, log: logging.Logger) -> None:
        self._region = region
        self._log_once = LogOnce(log)
        self._failing: dict[str, str] = {}
        self._round: dict[str, tuple[list[str], Exception]] = {}

    def failed(self, subject: str, error: Exception) -> None:
        """Note a failed call. `subject` is the operation or metric of the call."""
        subjects, _ = self._round.setdefault(_kind_of(subject, error), ([], error))
        subjects.append(subject)

    def report(self, operation: str, error: Exception | None) -> None:
        """Note the end of a call. `error` is None after an answer."""
        if error is not None:
            self.failed(operation, error)

    def end_round(self) -> None:
        """End the round: log new kinds of failures, and kinds that have ended."""
        for kind, (subjects, error) in self._round.items():
            is_named = isinstance(error, CloudError) and set(subjects) == {error.operation}
            named = "" if is_named else f"{_listed(subjects)}: "
            self._log_once.failed(kind, f"{self._region}: {named}{error}")
        for kind, subject in self._failing.items():
            if kind not in self._round:
                self._log_once.works(kind, f"{self._region}: {subject} works again")
        self._failing = {kind: _listed(subjects) for kind, (subjects, _) in self._round.items()}
        self._round = {}


def _kind_of(subject: str, error: Exception) -> str:
    if isinstance(error, CloudError):
        return f"{error.operation} {type(error).__name__} {error.status}"
    return f"{subject} {type(error).__name__}"


def _listed(subjects: list[str]) -> str:
    distinct = list(dict.fromkeys(subjects))
    more = len(distinct) - _NAMED
    return ", ".join(distinct[:_NAMED]) + (f" and {more} more" if more > 0 else "")
