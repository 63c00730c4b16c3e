# SPDX-License-Identifier: Apache-2.0
"""The documented errors of an OCI API: HTTP status, code and message. Documented: "API Errors"."""

from functools import partial
from http import HTTPStatus


class Refusal(Exception):
    """An answer with an error body `{"code": ..., "message": ...}`."""

    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        self.status = status
        self.code = code
        self.message = message
        super().__init__(f"{status.value} {code}: {message}")


cannot_parse = partial(Refusal, HTTPStatus.BAD_REQUEST, "CannotParseRequest")
invalid = partial(Refusal, HTTPStatus.BAD_REQUEST, "InvalidParameter")
missing = partial(Refusal, HTTPStatus.BAD_REQUEST, "MissingParameter")
not_authenticated = partial(Refusal, HTTPStatus.UNAUTHORIZED, "NotAuthenticated")
no_such_operation = partial(Refusal, HTTPStatus.NOT_FOUND, "NotFound")
method_not_allowed = partial(Refusal, HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed")
etag_mismatch = partial(
    Refusal, HTTPStatus.PRECONDITION_FAILED, "NoEtagMatch", "The etag in if-match is not that of the resource."
)
invalidated_retry_token = partial(
    Refusal, HTTPStatus.CONFLICT, "InvalidatedRetryToken", "The token was used for a request that no longer holds."
)
throttled = partial(Refusal, HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests", "Too many requests for the tenancy.")
internal_error = partial(
    Refusal, HTTPStatus.INTERNAL_SERVER_ERROR, "InternalServerError", "An internal server error occurred."
)
unavailable = partial(
    Refusal, HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable", "The service is currently unavailable."
)


def not_authorized_or_not_found(what: str = "resource") -> Refusal:
    """Return the refusal for a resource that does not exist or that no policy allows: OCI does not say which."""
    return Refusal(HTTPStatus.NOT_FOUND, "NotAuthorizedOrNotFound", f"Not authorized, or no such {what}.")
