# SPDX-License-Identifier: Apache-2.0
"""Every error that this project raises on purpose.

Adapters translate foreign exceptions into these errors at a single place and keep the foreign exception as the cause.
"""

from typing import Final

# The fix for a missing module of the extra `[oci]`. No package index has fss-exporter yet.
INSTALL_OCI: Final = "Install the package fss-exporter-poller, or run pip install '.[oci]' in a clone."


class FssError(Exception):
    """An error that an operator can fix. The message names the problem, the place and the fix.

    `lines` are the message and the details for the prompt. A line can contain names from outside, with line breaks.
    """

    def __init__(self, message: str = "", details: tuple[str, ...] = ()) -> None:
        self.lines = (message, *details)
        super().__init__("\n".join(self.lines))


class UsageError(FssError):
    """A flag, path or argument is wrong: one line, and a line for each mistake. The prompt exits with code 2."""


class ConfigError(UsageError):
    """The configuration file is wrong. Each mistake starts with the place (`limits.shapes.hpmt-20.iops: must be positive`)."""

    def __init__(self, source: str, mistakes: tuple[str, ...]) -> None:
        first, *others = (f"{source}: {mistake}" for mistake in mistakes)
        super().__init__(first, tuple(others))


class RecordError(FssError):
    """A damaged record of a file (label `reason`, shortened `detail`). The other records are usable."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}: {detail}")


class SourceError(FssError):
    """A whole source is unreadable. The message contains the fix."""


class CloudError(SourceError):
    """An answer from OCI without data: one line without secrets, and the API operation, e.g. `SummarizeMetricsData`.

    `status` is the HTTP status, None without an answer. `request_id` is the `opc-request-id` for a support request.
    """

    outcome = "error"
    lacks_permission = False  # whether a policy statement may be missing

    def __init__(self, message: str, *, operation: str, status: int | None = None, request_id: str = "") -> None:
        self.operation = operation
        self.status = status
        self.request_id = request_id
        super().__init__(message)

    @property
    def reason(self) -> str:
        """The HTTP status as text, or in words what went wrong without a status."""
        return self.outcome.replace("_", " ") if self.status is None else str(self.status)


class Throttled(CloudError):
    """429: more calls a second than the tenancy may make."""

    outcome = "throttled"


class NotAuthorized(CloudError):
    """403 or 404: OCI answers 404 for "no permission" and for "does not exist" alike."""

    outcome = "not_authorized"
    lacks_permission = True


class CredentialsRefused(NotAuthorized):
    """401: OCI does not accept the key, the token or the clock of the signature."""

    outcome = "credentials_refused"
    lacks_permission = False


class Unreachable(CloudError):
    """No answer at all: name resolution, connection, TLS or time-out."""

    outcome = "unreachable"


class LateAnswer(Unreachable):
    """The server took the call and gave no whole answer in time."""


class TooMuchData(CloudError):
    """400: an answer may hold 2,000 metric streams and 100,000 points. The caller must ask for less."""

    outcome = "too_much_data"


class BrokenAnswer(CloudError):
    """An answer without the documented form: 5xx, cut off, not JSON, wrong shape."""

    outcome = "broken_answer"


class MqlError(FssError):
    """A Monitoring query is invalid. `column` is the 1-based place of the first wrong character, which a mark shows."""

    def __init__(self, message: str, *, query: str, column: int) -> None:
        self.reason = message
        self.column = column
        super().__init__(f"column {column}: {message}", (f"  {query}", f"  {' ' * (column - 1)}^"))
