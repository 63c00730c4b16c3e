"""Answers of Prometheus' HTTP API: of a running server, or recorded and given again."""

import json
import lzma
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

_DIGITS = 5  # significant digits of a recorded value: more than a panel shows


class Answers(Protocol):
    """A source of answers; `scrape_s` is the scrape interval that the data source of Grafana is told."""

    @property
    def scrape_s(self) -> int: ...

    def ask(self, path: str, **parameters: str) -> Any: ...


@dataclass(frozen=True)
class Prometheus:
    """A running server."""

    url: str
    scrape_s: int

    def ask(self, path: str, **parameters: str) -> Any:
        """Data of an answer of the HTTP API."""
        body = urllib.parse.urlencode(parameters).encode()
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}", data=body, timeout=60) as response:
            return json.loads(response.read())["data"]


@dataclass
class Recorder:
    """A running server whose answers are kept."""

    server: Prometheus
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def scrape_s(self) -> int:
        return self.server.scrape_s

    def ask(self, path: str, **parameters: str) -> Any:
        """The answer of the server, as a recording will give it again."""
        answer = _shortened(self.server.ask(path, **parameters))
        self.kept[_key(path, parameters)] = answer
        return answer


@dataclass(frozen=True)
class Recording:
    """Recorded answers over one range of time."""

    start: float
    end: float
    scrape_s: int
    kept: dict[str, Any]

    def ask(self, path: str, **parameters: str) -> Any:
        """The recorded answer; a query that is not recorded is an error that names the fix."""
        try:
            return self.kept[_key(path, parameters)]
        except KeyError:
            query = next(iter(parameters.values()))
            message = f"no recorded answer, because the query is new: run make dashboard-pictures and commit the recording:\n{query}"
            raise LookupError(message) from None

    def write(self, path: Path) -> None:
        """Compressed, with sorted keys."""
        content = {"start": self.start, "end": self.end, "scrape_s": self.scrape_s, "kept": self.kept}
        path.write_bytes(lzma.compress(json.dumps(content, sort_keys=True, separators=(",", ":")).encode(), preset=9))

    @classmethod
    def read(cls, path: Path) -> "Recording":
        """A recording of `write`."""
        return cls(**json.loads(lzma.decompress(path.read_bytes())))


def _key(path: str, parameters: dict[str, str]) -> str:
    return "\n".join((path, *(f"{name}={parameters[name]}" for name in sorted(parameters))))


def _shortened(answer: Any) -> Any:
    """Values with few digits: `[time, "0.123456789"]` becomes `[time, "0.12346"]`."""
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        if len(answer) == 2 and isinstance(answer[1], str) and isinstance(answer[0], int | float):
            return [answer[0], f"{float(answer[1]):.{_DIGITS}g}"]
        return [_shortened(part) for part in answer]
    return {name: _shortened(part) for name, part in answer.items()} if isinstance(answer, dict) else answer
