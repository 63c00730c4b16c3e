"""Requests the SDK would not make, with the signature it would make."""

import http.client
import json
from email.utils import formatdate
from typing import Any

from oci.signer import Signer
from tests.region import Account, Region


class Signed:
    """A request as the SDK's signer leaves it, to be tampered with before it is sent."""

    def __init__(self, region: Region, account: Account, method: str, target: str, body: str | None = None) -> None:
        self.method, self.target, self.body = method, target, body
        self.host = region.url.removeprefix("http://")
        signer = Signer(account.tenancy_id, account.user_id, account.fingerprint, None, private_key_content=account.pem)
        self.headers = {"host": self.host, "date": formatdate(usegmt=True)}
        self.url = f"{region.url}{target}"
        self.path_url = target
        signer.do_request_sign(self)

    def send(self) -> tuple[int, Any, dict[str, str]]:
        """Status, parsed body and headers (by lower-case name) of the answer."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            connection.putrequest(self.method, self.target, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.endheaders((self.body or "").encode())
            answer = connection.getresponse()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, json.loads(answer.read()), headers
        finally:
            connection.close()
