"""Requests are believed only with the account's signature. Documented: "Request Signatures"."""

import subprocess
import time
from collections.abc import Callable
from email.utils import formatdate

import pytest
from tests.fss_toolbox.demo.sdk import Clients, clients, refused
from tests.processes import require
from tests.region import Account, Region
from tests.region.signed import Signed


@pytest.fixture
def get(region: Region, account: Account) -> Signed:
    return Signed(region, account, "GET", f"/20160918/availabilityDomains?compartmentId={region.tenancy.id}")


@pytest.fixture
def post(region: Region, account: Account) -> Signed:
    target = f"/20180401/metrics/actions/listMetrics?compartmentId={region.tenancy.id}"
    return Signed(region, account, "POST", target, "{}")


def _drop(name: str) -> Callable[[Signed], None]:
    def change(request: Signed) -> None:
        del request.headers[name]

    return change


def _set(**headers: str) -> Callable[[Signed], None]:
    return lambda request: request.headers.update({name.replace("_", "-"): value for name, value in headers.items()})


def _edit(old: str, new: str) -> Callable[[Signed], None]:
    def change(request: Signed) -> None:
        assert old in request.headers["authorization"]
        request.headers["authorization"] = request.headers["authorization"].replace(old, new)

    return change


def _body(text: str) -> Callable[[Signed], None]:
    def change(request: Signed) -> None:
        request.body = text

    return change


def _other_date(request: Signed) -> None:
    request.headers["date"] = formatdate(usegmt=True).replace("GMT", "-0000")


def _target(request: Signed) -> None:
    request.target += "&accessLevel=ANY"


SPOILT_GETS: dict[str, tuple[Callable[[Signed], None], str]] = {
    "without any authorization": (_drop("authorization"), "no signature"),
    "with a bearer token": (_set(authorization="Bearer x"), "no signature"),
    "with another algorithm": (_edit("rsa-sha256", "hmac-sha256"), "rsa-sha256"),
    "with another version": (_edit('version="1"', 'version="2"'), "version 1"),
    "with an unknown fingerprint": (_edit('keyId="ocid1', 'keyId="ocid2'), "fingerprint"),
    "without the host in the signature": (_edit("(request-target) host", "(request-target)"), "must cover"),
    "without the date in the signature": (_edit('headers="date ', 'headers="'), "must cover"),
    "with another query than signed": (_target, "does not fit"),
    "with an unreadable date": (_set(date="tomorrow"), "cannot be read"),
    "with another date than signed": (_other_date, "fit"),
    "with a signature that is not base64": (_edit('signature="', 'signature="!'), "does not fit"),
}


SPOILT_POSTS: dict[str, tuple[Callable[[Signed], None], str]] = {
    "with another body than signed": (_body("[]"), "SHA-256"),
    "without the hash of the body": (_drop("x-content-sha256"), "SHA-256"),
    "with a signature that leaves the body out": (
        _edit(" content-length content-type x-content-sha256", ""),
        "must cover",
    ),
}


@pytest.mark.parametrize("how", [*SPOILT_GETS, *SPOILT_POSTS])
def test_a_request_is_refused(how: str, get: Signed, post: Signed) -> None:
    request = get if how in SPOILT_GETS else post
    spoil, reason = (SPOILT_GETS | SPOILT_POSTS)[how]
    spoil(request)

    status, body, _ = request.send()

    assert (status, body["code"]) == (401, "NotAuthenticated")
    assert reason in body["message"]


def test_the_same_requests_untouched_are_accepted(get: Signed, post: Signed) -> None:
    assert [get.send()[0], post.send()[0]] == [200, 200]


def test_a_key_of_the_same_name_but_not_the_same_numbers_is_refused(region: Region, account: Account) -> None:
    stranger = Account.generate(account.tenancy_id)
    config = clients(region).config | {"key_content": stranger.pem}
    with refused(401, "NotAuthenticated", "does not fit"):
        Clients(region, config).identity.list_availability_domains(region.tenancy.id)


def test_the_fingerprint_is_the_md5_of_the_public_key_as_openssl_prints_it(account: Account) -> None:
    """Documented: "Required Keys and OCIDs", which gives this pipe of commands."""
    openssl = require("openssl", "openssl")
    public = subprocess.run(
        [openssl, "rsa", "-pubout", "-outform", "DER"], input=account.pem.encode(), capture_output=True, check=True
    )
    digest = subprocess.run([openssl, "md5", "-c"], input=public.stdout, capture_output=True, check=True)
    assert digest.stdout.decode().split()[-1] == account.fingerprint


@pytest.mark.parametrize(("skew_s", "accepted"), [(-290, True), (290, True), (-310, False), (310, False)])
def test_a_date_may_be_five_minutes_off_documented_request_signatures(
    skew_s: float, accepted: bool, regions: Callable[..., Region]
) -> None:
    region = regions(wall=lambda: time.time() + skew_s)
    sdk = clients(region)
    if accepted:
        assert sdk.identity.list_availability_domains(region.tenancy.id).data
    else:
        with refused(401, "NotAuthenticated", "clock skew of 5 minutes"):
            sdk.identity.list_availability_domains(region.tenancy.id)
