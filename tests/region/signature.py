"""Signatures of requests are checked with the key of the account. Documented: "Request Signatures" (version 1, rsa-sha256).

A signature covers the date, the request target and the host; for a body also its length, type and SHA-256. The date may
be five minutes off.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from fss_toolbox.demo.region.demo_account import DemoAccount
from fss_toolbox.demo.region.refusal import not_authenticated
from fss_toolbox.demo.region.wire import ApiRequest

ALLOWED_SKEW_SECONDS = 300
_ALWAYS = ("(request-target)", "host")
_WITH_BODY = ("content-length", "content-type", "x-content-sha256")
_PART = re.compile(r'(\w+)="([^"]*)"')


def verify(account: DemoAccount, request: ApiRequest, now: float) -> None:
    """Check one request.

    Args:
        account: whose key it must be.
        request: as it came in.
        now: what the service takes for the time, epoch seconds.

    Raises:
        Refusal: 401 NotAuthenticated with the reason.
    """
    method, headers = request.method, request.headers
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "signature":
        raise not_authenticated("The request carries no signature.")
    parts = dict(_PART.findall(rest))
    if parts.get("algorithm") != "rsa-sha256" or parts.get("version", "1") != "1":
        raise not_authenticated("The signature is not rsa-sha256 version 1.")
    if parts.get("keyId") != f"{account.tenancy_id}/{account.user_id}/{account.fingerprint}":
        raise not_authenticated("The key of the signature is not known: check tenancy, user and fingerprint.")
    signed = parts.get("headers", "date").split()
    _check_coverage(signed, method)
    _check_date(headers, signed, now)
    if (
        method in {"POST", "PUT", "PATCH"}
        and headers.get("x-content-sha256") != b64encode(sha256(request.body).digest()).decode()
    ):
        raise not_authenticated("x-content-sha256 is not the SHA-256 of the body.")
    try:
        signature = b64decode(parts.get("signature", ""), validate=True)
        account.public_key.verify(signature, _text(signed, request), PKCS1v15(), SHA256())
    except (InvalidSignature, NotBase64, ValueError):
        raise not_authenticated("The signature does not fit the request and the key.") from None


def _check_coverage(signed: list[str], method: str) -> None:
    needed = [*_ALWAYS, *(_WITH_BODY if method in {"POST", "PUT", "PATCH"} else ())]
    absent = [name for name in needed if name not in signed]
    if absent or not {"date", "x-date"} & set(signed):
        raise not_authenticated(f"The signature must cover date, {', '.join(needed)}.")


def _check_date(headers: Mapping[str, str], signed: list[str], now: float) -> None:
    text = headers.get("x-date" if "x-date" in signed else "date", "")
    try:
        sent = parsedate_to_datetime(text)
    except ValueError:
        raise not_authenticated("The date of the request cannot be read.") from None
    sent = sent if sent.tzinfo else sent.replace(tzinfo=UTC)
    if abs(sent.timestamp() - now) > ALLOWED_SKEW_SECONDS:
        current = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        raise not_authenticated(f"The date {text!r} is outside the allowed clock skew of 5 minutes; it is {current}.")


def _text(signed: list[str], request: ApiRequest) -> bytes:
    lines = []
    for name in signed:
        if name == "(request-target)":
            lines.append(f"{name}: {request.method.lower()} {request.target}")
        elif name in request.headers:
            lines.append(f"{name}: {request.headers[name]}")
        else:
            raise not_authenticated(f"The signed header {name} is not in the request.")
    return "\n".join(lines).encode("latin-1", "replace")
