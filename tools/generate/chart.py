"""chart.py render|check: keep the plain manifests and the compose file's Alertmanager equal to what they are made from.

render  write deploy/kubernetes/ from the chart, and deploy/compose/alertmanager.yml from its page.
check   fail where render would change a file.
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/fss-exporter"
MANIFESTS = ROOT / "deploy/kubernetes"
COMPOSE = ROOT / "deploy/compose"
TOOLS = ROOT / ".tools"
MANIFESTS_VALUES = CHART / "ci/manifests-values.yaml"
RENDERED = ("namespace", "poller", "agent", "networkpolicy", "monitors", "prometheusrule")
NEWEST = "1.37.0"


def alertmanager() -> str:
    """The routes and inhibitions that docs/alertmanager.md shows, as the compose file's Alertmanager loads them."""
    block = re.search(r"```yaml\n(route:.*?)```", (ROOT / "docs/alertmanager.md").read_text(), re.DOTALL)
    if block is None:
        sys.exit("docs/alertmanager.md: no YAML block that begins with route:")
    return f"# Copied from docs/alertmanager.md by `make chart`. Put your receivers in.\n{block[1]}"


def fingerprint() -> str:
    """One hash over the chart without its rules and dashboards, so that a stale rendering shows without helm."""
    sources = [
        CHART / "Chart.yaml",
        CHART / "values.yaml",
        MANIFESTS_VALUES,
        *CHART.glob("templates/*.*"),
    ]
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(f"{source.relative_to(CHART)}\n".encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def helm(*arguments: str) -> str:
    run = subprocess.run([TOOLS / "bin/helm", *arguments], capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"helm {' '.join(arguments)}:\n{run.stdout}{run.stderr}")
    return run.stdout


def manifests() -> dict[Path, bytes]:
    """Path below deploy/kubernetes to the content the chart's default values give."""
    header = f"# Rendered from deploy/helm/fss-exporter by `make chart`; edit the chart. Chart {fingerprint()}.\n"
    files = {}
    for name in RENDERED:
        text = helm("template", "fss-exporter", str(CHART), "--namespace", "fss-exporter", "--kube-version", NEWEST,
                    "--api-versions", "monitoring.coreos.com/v1", "--values", str(MANIFESTS_VALUES),
                    "--show-only", f"templates/{name}.yaml")  # fmt: skip
        # What says "installed by Helm" would be untrue of a file that kubectl applies.
        text = re.sub(
            r"^ *(app\.kubernetes\.io/managed-by|helm\.sh/chart): .*\n|^# Source: .*\n", "", text, flags=re.MULTILINE
        )
        files[MANIFESTS / f"{name}.yaml"] = (header + text).encode()
    return files


def rendered() -> dict[Path, bytes]:
    """Every file that render writes, with its content."""
    return manifests() | {COMPOSE / "alertmanager.yml": alertmanager().encode()}


def render() -> None:
    """Write what is rendered, and remove what else lies in deploy/kubernetes."""
    files = rendered()
    for orphan in set(MANIFESTS.glob("*")) - set(files):
        orphan.unlink()
    for path, content in files.items():
        path.write_bytes(content)


def stale(files: dict[Path, bytes]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path, content in files.items()
            if not path.is_file() or path.read_bytes() != content]  # fmt: skip


def check() -> None:
    outdated = stale(rendered())
    if outdated:
        sys.exit(f"not up to date: {', '.join(outdated)}; run: make chart")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["render"]:
            render()
        case ["check"]:
            check()
        case _:
            sys.exit(__doc__)
