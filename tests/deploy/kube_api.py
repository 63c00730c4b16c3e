"""As much of a Kubernetes API as `helm install` asks for: the kinds that there are, and a shelf for objects."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.local_server import Quiet, serving

PLAIN = {
    "v1": {"ConfigMap", "Namespace", "Pod", "Secret", "Service", "ServiceAccount"},
    "apps/v1": {"DaemonSet", "Deployment"},
    "networking.k8s.io/v1": {"NetworkPolicy"},
}
OPERATOR = {"monitoring.coreos.com/v1": {"PodMonitor", "PrometheusRule", "ServiceMonitor"}}

RELEASES = {"kind": "SecretList", "apiVersion": "v1", "items": []}
MISSING = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}


def discovery(kinds: dict[str, set[str]]) -> dict[str, dict[str, Any]]:
    """What a client asks to learn the kinds of a cluster, by path."""
    pages: dict[str, dict[str, Any]] = {
        "/version": {"major": "1", "minor": "31", "gitVersion": "v1.31.0"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
    }
    groups = []
    for version, names in kinds.items():
        group, _, number = version.rpartition("/")
        resources = [
            {"name": plural(kind), "kind": kind, "namespaced": kind != "Namespace", "verbs": ["create", "get"]}
            for kind in sorted(names)
        ]
        path = f"/apis/{version}" if group else f"/api/{version}"
        pages[path] = {"kind": "APIResourceList", "groupVersion": version, "resources": resources}
        if group:
            only = {"groupVersion": version, "version": number}
            groups.append({"name": group, "versions": [only], "preferredVersion": only})
    return pages | {"/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}}


def plural(kind: str) -> str:
    lower = kind.lower()
    return f"{lower[:-1]}ies" if lower.endswith("y") else f"{lower}s"


@contextmanager
def kube_api(kinds: dict[str, set[str]]) -> Iterator[tuple[dict[str, Any], dict[str, dict[str, Any]]]]:
    """A cluster with these kinds by version that takes every object: its kubeconfig, and what was created, by path."""
    pages, created = discovery(kinds), dict[str, dict[str, Any]]()

    class Cluster(Quiet):
        def get(self) -> None:
            path = self.path.partition("?")[0]
            found = pages.get(path) or created.get(path) or (RELEASES if path.endswith("/secrets") else None)
            self.answer(json.dumps(found or MISSING), 200 if found else 404, "application/json")

        def post(self) -> None:
            body = self.received()
            if self.headers["Content-Type"] == "application/json":  # else a Secret of helm itself, in protobuf
                given = json.loads(body)
                created[f"{self.path.partition('?')[0]}/{given['metadata']['name']}"] = given
            self.answer(body, 201, self.headers["Content-Type"])

        def do_PUT(self) -> None:  # noqa: N802  # the base class calls it so
            self.answer(self.received(), 200, self.headers["Content-Type"])

    with serving(Cluster) as place:
        named = {"name": "test"}
        yield (
            {
                "clusters": [named | {"cluster": {"server": f"http://{place}"}}],
                "contexts": [named | {"context": {"cluster": "test", "user": "test"}}],
                "users": [named | {"user": {}}],
                "current-context": "test",
            },
            created,
        )
