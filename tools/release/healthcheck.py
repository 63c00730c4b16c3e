"""healthcheck.py [PORT]: exit code 0 while the exporter answers, over HTTP or TLS, as far as it lets a stranger in."""

import http.client
import ssl
import sys


def status(connection: http.client.HTTPConnection) -> int:
    connection.request("GET", "/-/healthy")
    return connection.getresponse().status


def status_over_tls(port: int) -> int:
    # Whether the certificate is a good one is for those who scrape to judge; it need not name the loopback address.
    anyone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=4, context=anyone)
    connection.connect()
    try:
        return status(connection)
    except (http.client.HTTPException, ssl.SSLError, ConnectionResetError, BrokenPipeError):
        return 200  # it has shown its certificate and demands one of ours: it is up


def alive(port: int) -> bool:
    try:
        return status(http.client.HTTPConnection("127.0.0.1", port, timeout=4)) < 500
    except (http.client.HTTPException, ConnectionResetError, BrokenPipeError):
        return status_over_tls(port) < 500


if __name__ == "__main__":
    try:
        sys.exit(not alive(int(sys.argv[1]) if len(sys.argv) > 1 else 10949))
    except OSError as failure:
        sys.exit(f"no answer: {failure}")
