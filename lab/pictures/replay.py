"""A real Prometheus that gets scrapes of a past time, with the rules evaluated at each of their moments: an hour of history in seconds.

Prometheus takes samples through its remote write receiver, with any time. It answers each rule for the moment of the scrape. What is
done here is the work of its scheduler: groups and rules in their order, `for`, `keep_firing_for`, and stale markers.
"""

import http.client
import json
import re
import struct
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from lab.pictures.intervals import seconds

Labels = tuple[tuple[str, str], ...]
Samples = Iterable[tuple[Labels, float]]

FLAGS = ("--web.enable-remote-write-receiver", "--storage.tsdb.retention.time=50y")  # flags that the server needs

_STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
_BATCH = 20_000


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _field(number: int, content: bytes) -> bytes:
    """A field of Protocol Buffers that has a length."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _encoded_labels(labels: Labels) -> bytes:
    pairs = (_field(1, name.encode()) + _field(2, value.encode()) for name, value in sorted(labels) if value)
    return b"".join(_field(1, pair) for pair in pairs)


def _uncompressed(content: bytes) -> bytes:
    """The content in the block format of Snappy, as one literal."""
    return _varint(len(content)) + b"\xfc" + struct.pack("<I", len(content) - 1) + content


class Server:
    """The HTTP API of a running Prometheus."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=300)
        self._encoded: dict[Labels, bytes] = {}

    def _post(self, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        self._connection.request("POST", path, body, dict(headers))
        response = self._connection.getresponse()
        content = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{path}: {response.status} {content.decode()[:500]}\n{body[:500]!r}")
        return content

    def write(self, samples: Samples, at: float) -> None:
        """Store samples of one moment, epoch seconds."""
        self.write_history(((labels, (value,)) for labels, value in samples), (at,))

    def write_history(self, series: Iterable[tuple[Labels, Iterable[float]]], moments: Sequence[float]) -> None:
        """Store the values of series at moments, epoch seconds. The server takes samples of a series in the order of time."""
        stamps = [b"\x10" + _varint(int(at * 1000)) for at in moments]
        rows = []
        for labels, values in series:
            if (encoded := self._encoded.get(labels)) is None:
                encoded = self._encoded[labels] = _encoded_labels(labels)
            samples = (b"\x09" + struct.pack("<d", value) + stamp for value, stamp in zip(values, stamps, strict=True))
            rows.append(_field(1, encoded + b"".join(_field(2, sample) for sample in samples)))
            if len(rows) * len(stamps) >= _BATCH:
                self._push(rows)
                rows = []
        if rows:
            self._push(rows)

    def _push(self, rows: Sequence[bytes]) -> None:
        headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf"}
        self._post(
            "/api/v1/write", _uncompressed(b"".join(rows)), {**headers, "X-Prometheus-Remote-Write-Version": "0.1.0"}
        )

    def ask(self, expression: str, at: float) -> list[tuple[Labels, float]]:
        """The vector that an expression gives at a moment."""
        body = urllib.parse.urlencode({"query": expression, "time": f"{at:.3f}"}).encode()
        answer = json.loads(self._post("/api/v1/query", body, {"Content-Type": "application/x-www-form-urlencoded"}))
        if answer["data"]["resultType"] == "scalar":
            return [((), float(answer["data"]["result"][1]))]
        return [(tuple(stream["metric"].items()), float(stream["value"][1])) for stream in answer["data"]["result"]]


class Stored:
    """What one target or one rule has stored last, so that a series which ends is marked as stale."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._last: set[Labels] = set()

    def store(self, samples: Samples, at: float) -> None:
        """Store the samples, and a stale marker for each series that was there before."""
        present = dict(samples)
        gone = ((labels, _STALE) for labels in self._last - present.keys())
        self._server.write((*present.items(), *gone), at)
        self._last = set(present)


def samples_of(text: str, target: Labels) -> Iterator[tuple[Labels, float]]:
    """The samples of an exposition, with the labels of its target."""
    for line in text.splitlines():
        if line and line[0] != "#":
            series, _, value = line.rpartition(" ")
            yield _labels_of(series, target), float(value)


_SEEN: dict[tuple[str, Labels], Labels] = {}


def _labels_of(series: str, target: Labels) -> Labels:
    if (labels := _SEEN.get((series, target))) is None:
        name, _, rest = series.partition("{")
        pairs = ((label, re.sub(r"\\.", lambda two: _ESCAPES[two[0]], value)) for label, value in _LABEL.findall(rest))
        labels = _SEEN[series, target] = (("__name__", name), *pairs, *target)
    return labels


@dataclass
class _Alert:
    """The state of an alert with one set of labels, in epoch seconds."""

    since: float
    last_true: float
    is_firing: bool = False


@dataclass
class _Rule:
    fields: Mapping[str, Any]
    stored: Stored
    alerts: dict[Labels, _Alert] = field(default_factory=dict)

    def result(self, server: Server, at: float) -> dict[Labels, float]:
        series = server.ask(self.fields["expr"], at)
        own = {"__name__": self.fields["record"]} if "record" in self.fields else {"alertname": self.fields["alert"]}
        own |= self.fields.get("labels", {})
        rows: dict[Labels, float] = {}
        for labels, value in series:
            kept = {name: text for name, text in labels if name != "__name__"} | own
            rows[tuple(sorted(kept.items()))] = value
        return rows

    def evaluate(self, server: Server, at: float) -> None:
        rows = self.result(server, at)
        self.stored.store(rows.items() if "record" in self.fields else self._states(rows, at), at)

    def _states(self, true: Mapping[Labels, float], at: float) -> Iterator[tuple[Labels, float]]:
        waits, keeps = (seconds(str(self.fields.get(name, "0s"))) for name in ("for", "keep_firing_for"))
        for labels in true:
            self.alerts.setdefault(labels, _Alert(at, at)).last_true = at
        for labels, alert in list(self.alerts.items()):
            if labels in true:
                alert.is_firing = alert.is_firing or at - alert.since >= waits
            elif not (alert.is_firing and at - alert.last_true < keeps):
                del self.alerts[labels]
                continue
            state = "firing" if alert.is_firing else "pending"
            yield (("__name__", "ALERTS"), ("alertstate", state), *labels), 1.0
            yield (("__name__", "ALERTS_FOR_STATE"), *labels), alert.since


class Rules:
    """The rules of a pack, evaluated group by group."""

    def __init__(self, server: Server, groups: Sequence[Mapping[str, Any]]) -> None:
        self._server = server
        self._rules = [_Rule(rule, Stored(server)) for group in groups for rule in group["rules"]]

    def evaluate(self, at: float) -> None:
        """Evaluate all rules at a moment."""
        for rule in self._rules:
            rule.evaluate(self._server, at)
