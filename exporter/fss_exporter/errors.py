"""Every error this project raises on purpose.

    FssError                      anything an operator can act on; the message names the place and the fix
    ├── UsageError                a flag, path or argument is wrong: exit code 2 at the prompt
    │   └── ConfigError           the configuration file is wrong; carries every mistake with its place
    ├── RecordError               one record of a file cannot be read; carries the reason label
    ├── SourceError               a whole source (procfs file, cloud endpoint) cannot be read
    │   └── CloudError            an answer from OCI that is not data
    │       ├── Throttled         429: too many calls a second for the tenancy
    │       ├── NotAuthorized     401, 403, 404: missing policy, wrong compartment or wrong key
    │       ├── Unreachable       no connection, time-out, name resolution, TLS
    │       ├── TooMuchData       400: more streams or points than one answer may hold
    │       └── BrokenAnswer      5xx, cut off, not JSON, not the documented shape
    └── MqlError                  a Monitoring query does not parse; carries the column

Adapters translate foreign exceptions into these once, most specific first, with the foreign one as cause.
"""


class FssError(Exception):
    """Anything an operator can act on. The message says what is wrong, where, and what to do."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The message as the prompt prints it. A line may hold names from outside, line breaks included."""
        return (str(self),)


class UsageError(FssError):
    """A flag, path or argument is wrong. The prompt prints it and exits with code 2.

    Args:
        message: one line.
        details: further lines, one for each thing that is wrong.
    """

    def __init__(self, message: str, details: tuple[str, ...] = ()) -> None:
        self._lines = (message, *details)
        super().__init__("\n".join(self._lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """The message and its details."""
        return self._lines


class ConfigError(UsageError):
    """The configuration file is wrong.

    Args:
        source: the file, as the operator named it.
        mistakes: one line for each mistake, place first (`limits.shapes.hpmt-20.iops: must be positive`).
    """

    def __init__(self, source: str, mistakes: tuple[str, ...]) -> None:
        self.source = source
        self.mistakes = mistakes
        first, *others = (f"{source}: {mistake}" for mistake in mistakes)
        super().__init__(first, tuple(others))


class RecordError(FssError):
    """One record of a file cannot be read; the others can.

    Args:
        reason: value of the `reason` label of `fss_nfs_records_skipped_total`.
        detail: the offending text, shortened.
    """

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}: {detail}")


class SourceError(FssError):
    """A whole source cannot be read. The message says what to do about it."""


class CloudError(SourceError):
    """An answer from OCI that is not data.

    Args:
        message: what happened, in one line, without secrets.
        operation: the API operation, e.g. `SummarizeMetricsData`.
        status: HTTP status, or None where there was no answer.
        request_id: `opc-request-id` of the answer, for a support request; empty if there was none.
    """

    outcome = "error"

    def __init__(self, message: str, *, operation: str, status: int | None = None, request_id: str = "") -> None:
        self.operation = operation
        self.status = status
        self.request_id = request_id
        super().__init__(message)


class Throttled(CloudError):
    """429: more calls a second than the tenancy may make."""

    outcome = "throttled"


class NotAuthorized(CloudError):
    """401, 403 or 404: OCI answers 404 for "no permission" and for "does not exist" alike."""

    outcome = "not_authorized"


class Unreachable(CloudError):
    """No answer at all: name resolution, connection, TLS or time-out."""

    outcome = "unreachable"


class TooMuchData(CloudError):
    """400: one answer may hold 2,000 metric streams and 100,000 points; ask for less."""

    outcome = "too_much_data"


class BrokenAnswer(CloudError):
    """An answer that is not what the API documents: 5xx, cut off, not JSON, wrong shape."""

    outcome = "broken_answer"


class MqlError(FssError):
    """A Monitoring query does not parse.

    Args:
        message: what was expected; kept as `reason`.
        query: the whole query.
        column: 1-based column of the first character that does not fit.
    """

    def __init__(self, message: str, *, query: str, column: int) -> None:
        self.reason = message
        self.query = query
        self.column = column
        self._lines = (f"column {column}: {message}", f"  {query}", f"  {' ' * (column - 1)}^")
        super().__init__("\n".join(self._lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """The message, the query, and a mark below its column."""
        return self._lines
