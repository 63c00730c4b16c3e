"""host_pip.py DIRECTORY: print options of a builder that let a build reach packages the way this machine's pip does.

Index, proxy and certificates of `pip config list` and of the environment are written to DIRECTORY/pip.conf. Certificates and local folders
are mounted at their own paths. Nothing of it stays in an image, because no stage that pip runs in is shipped.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

REACH = (
    "index-url",
    "extra-index-url",
    "find-links",
    "no-index",
    "trusted-host",
    "proxy",
    "cert",
    "client-cert",
    "timeout",
    "retries",
)
BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


def settings(listed: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What decides how packages are reached. `listed` is the text of `pip config list`. The environment wins over files."""
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        section, _, option = name.rpartition(".")
        option = {"default-timeout": "timeout"}.get(option, option)
        if section in found and option in REACH:
            found[section][option] = ast.literal_eval(value)
    bundle = next((environment[name] for name in BUNDLES if environment.get(name)), "")
    own = found["global"] | found["install"] | found[":env:"]
    return ({"cert": bundle} if bundle else {}) | own


def mounted(values: Mapping[str, str]) -> Iterator[Path]:
    """Files and folders of this machine that the settings name."""
    words = [word for option in ("cert", "client-cert", "find-links") for word in values.get(option, "").split()]
    yield from dict.fromkeys(Path(word) for word in words if Path(word).is_absolute() and Path(word).exists())


def options(values: Mapping[str, str], directory: Path) -> list[str]:
    """Volumes for `buildah build` or `podman build`. None where pip has no settings."""
    if not values:
        return []
    lines = "".join(f"{name} = {' '.join(value.split())}\n" for name, value in values.items())
    (directory / "pip.conf").write_text(f"[global]\n{lines}")
    places = {directory / "pip.conf": "/etc/pip.conf"} | {path: str(path) for path in mounted(values)}
    return [f"--volume={path.resolve()}:{place}:ro" for path, place in places.items()]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pip = (sys.executable, "-m", "pip", "config", "list")
    listed = subprocess.run(pip, capture_output=True, text=True, check=True).stdout
    print("\n".join(options(settings(listed, os.environ), Path(sys.argv[1]))))
