"""A guarded application behind a web configuration file that a test writes."""

import base64
from pathlib import Path

import bcrypt
from tests.fss_exporter.web.serving import look_twice

from fss_exporter.web.messages import Request, Response, text
from fss_exporter.web.web_config_reload import WebConfigReload

HASH = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
RIGHT = {"authorization": f"Basic {base64.b64encode(b'me:secret').decode()}"}
OPEN = frozenset({"/-/healthy"})


def application(request: Request) -> Response:
    return text(200, request.path, ("X-Frame-Options", "deny"))


def write(path: Path, content: str) -> Path:
    """Replace the file as an editor or Kubernetes does, so that it is another file even within a clock tick."""
    fresh = path.with_suffix(".fresh")
    fresh.write_text(content)
    fresh.rename(path)
    return path


def ask(web_config: WebConfigReload, path: str, headers: dict[str, str] | None = None, client: str = "::1") -> Response:
    """The response to one request, after one round of the loop that watches the file."""
    look_twice(web_config)

    guarded = web_config.guard(application, open_paths=OPEN)
    return guarded(Request("GET", path, "", headers or {}, client))
