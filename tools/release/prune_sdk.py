"""prune_sdk.py [DIRECTORY]: remove the OCI SDK's folders of services the poller does not call.

The SDK brings a client for every service of the cloud, 500 MB of them. DIRECTORY is the installed `oci` package, by default the one this Python
would import. `tests/deploy/with_prune_sdk.py` runs the poller on what is left.
"""

import ast
import importlib.util
import shutil
import sys
from pathlib import Path

# The clients that `exporter/fss_exporter/oci/client/service_clients.py` opens.
OPENED = frozenset({"core", "file_storage", "identity", "limits", "lustre_file_storage", "monitoring"})

# The SDK's own pagination and waiter modules import these too.
USED = OPENED | {"dns", "object_storage", "work_requests"}


def unused(sdk: Path) -> list[Path]:
    """Folders of services, which the package lists in `__all__` and does not import itself, that nothing here calls."""
    tree = ast.parse((sdk / "__init__.py").read_text(encoding="utf-8"))
    own = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    listed = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)
        for name in ast.literal_eval(node.value)
    }
    services = [sdk / name for name in sorted(listed - own) if list(sdk.glob(f"{name}/*_client.py"))]
    if not {folder.name for folder in services} >= USED:
        sys.exit(f"{sdk}: its __init__.py does not list {', '.join(sorted(USED))}; has the SDK changed its layout?")
    return [folder for folder in services if folder.name not in USED]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sdk = Path(sys.argv[1])
    else:
        spec = importlib.util.find_spec("oci")
        if spec is None or spec.origin is None:
            sys.exit("the OCI SDK is not installed here")
        sdk = Path(spec.origin).parent
    removed = unused(sdk)
    for folder in removed:
        shutil.rmtree(folder)
    print(f"removed {len(removed)} services from {sdk}, kept {', '.join(sorted(USED))}")
