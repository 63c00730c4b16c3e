"""chart.py fill|render|check: keep the Helm chart and the plain manifests equal to what they are made from.

fill    copies rules/ and dashboards/ into the chart, because helm packages only the chart's own folder.
render  fill, then write deploy/kubernetes/ from the chart.
check   fail where fill or render would change a file, then helm lint, helm template and kubeconform for every
        ci/*-values.yaml on the oldest and the newest Kubernetes.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHART = ROOT / "deploy/helm/fss-exporter"
MANIFESTS = ROOT / "deploy/kubernetes"
COMPOSE = ROOT / "deploy/compose"
TOOLS = ROOT / ".tools"
COPIED = {"rules": "*.yml", "dashboards": "*.json"}
MANIFESTS_VALUES = CHART / "ci/manifests-values.yaml"
RENDERED = ("namespace", "poller", "agent", "networkpolicy", "monitors", "prometheusrule")
OLDEST, NEWEST = "1.27.0", "1.37.0"


def copies() -> dict[Path, bytes]:
    """Path in the chart to the content it has to have."""
    copied = {
        CHART / "files" / folder / source.name: source.read_bytes()
        for folder, pattern in COPIED.items()
        for source in sorted((ROOT / folder).glob(pattern))
    }
    return copied | {COMPOSE / "alertmanager.yml": alertmanager().encode()}


def alertmanager() -> str:
    """The routes and inhibitions that docs/alertmanager.md shows, as the compose file's Alertmanager loads them."""
    block = re.search(r"```yaml\n(route:.*?)```", (ROOT / "docs/alertmanager.md").read_text(), re.DOTALL)
    if block is None:
        sys.exit("docs/alertmanager.md: no YAML block that begins with route:")
    return f"# Copied from docs/alertmanager.md by `make chart`. Put your receivers in.\n{block[1]}"


def fingerprint() -> str:
    """One hash over everything the manifests are rendered from, so that a stale rendering shows without helm."""
    sources = [
        CHART / "Chart.yaml",
        CHART / "values.yaml",
        MANIFESTS_VALUES,
        *CHART.glob("templates/*.*"),
        *CHART.glob("files/rules/*"),
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


def write(files: dict[Path, bytes], *folders: Path) -> None:
    """Write the files, and remove what else lies in the folders they fill."""
    for orphan in {path for folder in folders for path in folder.glob("*")} - set(files):
        orphan.unlink()
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def fill() -> None:
    write(copies(), *(CHART / "files" / folder for folder in COPIED))


def stale(files: dict[Path, bytes]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path, content in files.items()
            if not path.is_file() or path.read_bytes() != content]  # fmt: skip


def check() -> None:
    outdated = stale(copies()) + stale(manifests())
    if outdated:
        sys.exit(f"not up to date: {', '.join(outdated)}; run: make chart")
    with tempfile.TemporaryDirectory() as scratch:
        for values in [CHART / "values.yaml", *sorted(CHART.glob("ci/*-values.yaml"))]:
            helm("lint", "--strict", "--quiet", str(CHART), "--values", str(values))
            for version in (OLDEST, NEWEST):
                rendered = Path(scratch) / f"{values.stem}-{version}.yaml"
                rendered.write_text(helm("template", "fss-exporter", str(CHART), "--namespace", "fss-exporter",
                                         "--kube-version", version, "--values", str(values)))  # fmt: skip
                conform(version, rendered)
        helm("package", str(CHART), "--destination", scratch)
    conform(NEWEST, *MANIFESTS.glob("*.yaml"))


def conform(version: str, *files: Path) -> None:
    schemas = [f"{TOOLS}/schemas/v{version}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
               f"{TOOLS}/schemas/custom/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"]  # fmt: skip
    locations = [part for schema in schemas for part in ("-schema-location", schema)]
    command = [str(TOOLS / "bin/kubeconform"), "-strict", "-kubernetes-version", version, *locations, *map(str, files)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"kubeconform, Kubernetes {version}:\n{run.stdout}{run.stderr}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["fill"]:
            fill()
        case ["render"]:
            fill()
            write(manifests(), MANIFESTS)
        case ["check"]:
            check()
        case _:
            sys.exit(__doc__)
