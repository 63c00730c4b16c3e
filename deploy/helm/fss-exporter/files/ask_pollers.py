"""ask_pollers.py HOST PORT http|https|tcp SECONDS: wait until each poller behind a name says that it is ready.

`tcp` only opens the port, where a poller wants a certificate that nobody here has. Exit code 1 after SECONDS.
"""

import http.client
import socket
import ssl
import sys
import time

ANSWER_SECONDS = 5
BETWEEN_SECONDS = 2


def connection(address: str, port: int, scheme: str) -> http.client.HTTPConnection:
    """Return a connection. It sends no secret, and an address stands in no certificate, so none is verified."""
    if scheme == "https":
        return http.client.HTTPSConnection(
            address, port, timeout=ANSWER_SECONDS, context=ssl._create_unverified_context()
        )
    return http.client.HTTPConnection(address, port, timeout=ANSWER_SECONDS)


def ask(address: str, port: int, scheme: str) -> tuple[bool, str]:
    """Return whether the poller at an address is ready, and what it says."""
    try:
        asked = connection(address, port, scheme)
        if scheme == "tcp":
            asked.connect()
            return True, "the port is open"
        asked.request("GET", "/-/ready")
        answer = asked.getresponse()
        return answer.status == http.client.OK, answer.read().decode().strip()
    except (OSError, http.client.HTTPException) as error:
        return False, f"{type(error).__name__}: {error}"


def ask_all(host: str, port: int, scheme: str) -> dict[str, tuple[bool, str]]:
    """Return the answer of each address of the host."""
    try:
        found = {str(place[4][0]) for place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except socket.gaierror as error:
        return {host: (False, f"no poller has this name: {error.strerror}")}
    return {address: ask(address, port, scheme) for address in sorted(found)}


def main(host: str, port: int, scheme: str, seconds: float) -> int:
    """Ask until all pollers are ready, and print each new answer."""
    ends = time.monotonic() + seconds
    said: dict[str, tuple[bool, str]] = {}
    while True:
        answers = ask_all(host, port, scheme)
        for address in answers:
            if said.get(address) != answers[address]:
                print(f"{address}: {answers[address][1]}", flush=True)
        said = answers
        if all(is_ready for is_ready, _ in answers.values()):
            return 0
        if time.monotonic() >= ends:
            print(f"not ready after {seconds:.0f} s: the log of the poller says more", flush=True)
            return 1
        time.sleep(BETWEEN_SECONDS)


sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])))
