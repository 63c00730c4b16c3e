"""A region without sockets, for tests of what a poll makes of answers. The SDK builds each request and reads each answer.

HTTP, its faults and signatures need a region that listens.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from oci._vendor.requests import Response
from oci._vendor.requests.structures import CaseInsensitiveDict
from tests.region.strict import Region

from fss_exporter.oci.client.bounded_http import BrokenBody
from fss_toolbox.demo.region.api_operations import ApiOperation
from fss_toolbox.demo.region.wire import ApiRequest


class InMemoryRegion(Region):
    """A region that answers requests in its own process and believes them without a signature."""

    address = ""

    @property
    def url(self) -> str:
        """The endpoint for the settings of a client."""
        return self.address

    def start(self, host: str = "", port: int = 0) -> None:
        """Listen nowhere."""

    def admit(self, operation: ApiOperation, request: ApiRequest) -> None:
        """Check the calls of the last second."""
        del request
        self._throttle(operation.family)


class _HttpSession:
    """In the place of the HTTP session of the SDK's client."""

    proxies: Mapping[str, str] = {}

    def __init__(self, region: Region) -> None:
        self._region = region

    def request(
        self, method: str, url: str, *, params: Any, headers: Mapping[str, str], data: str | None, **_: object
    ) -> Response:
        """Return the answer of the region."""
        query = f"?{urlencode(params, doseq=True)}" if params else ""
        sent = {name.lower(): value for name, value in headers.items()}
        request = ApiRequest(method, urlsplit(url).path + query, sent, (data or "").encode())
        response = Response()
        response.status_code, answered, content = self._region.respond(request)
        response.headers = CaseInsensitiveDict(answered)
        response._content = content  # as requests stores what it has read
        if len(content) < int(answered["content-length"]):
            raise BrokenBody("the connection broke in the middle of the answer")
        return response


class InMemoryRegions:
    """The regions of one test, by the host of their URL."""

    def __init__(self) -> None:
        self._by_host: dict[str, InMemoryRegion] = {}

    def add(self, region: "InMemoryRegion") -> None:
        """Give a region a URL of its own."""
        host = f"region-{len(self._by_host)}.invalid"
        self._by_host[host] = region
        region.address = f"http://{host}"

    def connect(self, client: Any) -> None:
        """Let a client of the SDK ask the region of its endpoint. Other endpoints stay on HTTP."""
        if region := self._by_host.get(urlsplit(client.endpoint).netloc):
            client.session = _HttpSession(region)
