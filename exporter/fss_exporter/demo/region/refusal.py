"""The documented ways an OCI API says no: HTTP status, code and message. Documented: "API Errors"."""

from http import HTTPStatus


class Refusal(Exception):
    """An answer that is an error body `{"code": ..., "message": ...}`.

    Args:
        status: HTTP status.
        code: the documented error code.
        message: for a person.
    """

    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        self.status = status
        self.code = code
        self.message = message
        super().__init__(f"{status.value} {code}: {message}")


def cannot_parse(message: str) -> Refusal:
    """The body is not what it says it is."""
    return Refusal(HTTPStatus.BAD_REQUEST, "CannotParseRequest", message)


def invalid(message: str) -> Refusal:
    """A parameter or field has a value it may not have."""
    return Refusal(HTTPStatus.BAD_REQUEST, "InvalidParameter", message)


def missing(message: str) -> Refusal:
    """A required parameter or field is not there."""
    return Refusal(HTTPStatus.BAD_REQUEST, "MissingParameter", message)


def limit_exceeded(message: str) -> Refusal:
    """The tenancy may not have more of these."""
    return Refusal(HTTPStatus.BAD_REQUEST, "LimitExceeded", message)


def related_not_found(message: str) -> Refusal:
    """A resource named in the body does not exist or may not be used."""
    return Refusal(HTTPStatus.BAD_REQUEST, "RelatedResourceNotAuthorizedOrNotFound", message)


def not_authenticated(message: str) -> Refusal:
    """The signature does not fit."""
    return Refusal(HTTPStatus.UNAUTHORIZED, "NotAuthenticated", message)


def not_authorized_or_not_found(what: str = "resource") -> Refusal:
    """The resource does not exist, or a policy is missing: OCI does not tell which."""
    return Refusal(HTTPStatus.NOT_FOUND, "NotAuthorizedOrNotFound", f"Not authorized, or no such {what}.")


def no_such_operation(target: str) -> Refusal:
    """Nothing is served at this path."""
    return Refusal(HTTPStatus.NOT_FOUND, "NotFound", f"No operation is served at {target}.")


def method_not_allowed(method: str) -> Refusal:
    """The path is known, the method is not."""
    return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", f"{method} is not served at this path.")


def conflict(code: str, message: str) -> Refusal:
    """The state of the resource forbids it."""
    return Refusal(HTTPStatus.CONFLICT, code, message)


def etag_mismatch() -> Refusal:
    """`if-match` names another version than the current one."""
    return Refusal(HTTPStatus.PRECONDITION_FAILED, "NoEtagMatch", "The etag in if-match is not that of the resource.")


def too_large(message: str) -> Refusal:
    """The body is larger than the service reads."""
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "PayloadTooLarge", message)


def throttled() -> Refusal:
    """More calls a second than the tenancy may make."""
    return Refusal(HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests", "Too many requests for the tenancy.")


def internal_error() -> Refusal:
    """The service failed."""
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalServerError", "An internal server error occurred.")


def unavailable() -> Refusal:
    """The service is not available now."""
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable", "The service is currently unavailable.")
