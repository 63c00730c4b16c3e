"""Names of pods from the node's own folder of pod logs, without the API server.

The kubelet makes `/var/log/pods/<namespace>_<name>_<uid>/` for each pod before the first container starts.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

_FOLDER: Final = re.compile(r"([a-z0-9-]{1,63})_([a-z0-9.-]{1,253})_([0-9a-f-]{32,36})")


class Pod(NamedTuple):
    """A pod of this node."""

    namespace: str
    name: str


class Pods:
    """Names by uid, read again when an unknown uid appears.

    Args:
        folder: of the pod logs.

    Attributes:
        is_readable: whether the folder could be read at the last look.
    """

    def __init__(self, folder: Path) -> None:
        self.is_readable = True
        self._folder = folder
        self._names: dict[str, Pod] = {}
        self._missing: set[str] = set()

    def begin(self) -> None:
        """A new round: an unknown uid is worth another look."""
        self._missing.clear()

    def of(self, uid: str) -> Pod:
        """Namespace and name. The uid in place of the name where the folder does not have the pod."""
        if uid not in self._names and uid not in self._missing:
            self._look()
            self._missing.add(uid)
        return self._names.get(uid) or Pod("", uid)

    def _look(self) -> None:
        try:
            folders = [one.name for one in self._folder.iterdir()]
        except OSError:
            self.is_readable = False
            return
        self.is_readable = True
        found = filter(None, map(_FOLDER.fullmatch, folders))
        self._names = {uid: Pod(namespace, name) for namespace, name, uid in (one.groups() for one in found)}
