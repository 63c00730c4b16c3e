"""Pictures of the status page for the documents: of the demo, and of a client that hangs. `make -C lab screenshots` makes them."""

import re
import tempfile
from pathlib import Path

from tests.e2e.browser import visit
from tests.processes import demo, get, wait_for
from tests.rules.situations import page_of_client

FOLDER = Path(__file__).parents[2] / "docs" / "images"
PICTURES = {
    "status-page.png": ((1120, 700), False),
    "status-page-dark-phone.png": ((390, 760), True),
}
_NOT_KNOWN = re.compile(r"^fss_mount_target_state\{.*\} 1\.0$", re.MULTILINE)
_PATIENCE_S = 400
HANGING = "status-page-hanging.png"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, demo(Path(folder)) as url:
        wait_for(lambda: "Means of the last" in get(url), "rates on the page")
        wait_for(lambda: not _NOT_KNOWN.search(get(f"{url}/metrics")), "a state of each mount target", _PATIENCE_S)
        for name, (size, dark) in PICTURES.items():
            visit(url, size=size, dark=dark, picture=FOLDER / name)
            print(FOLDER / name)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(page_of_client("a mount target hangs"), encoding="utf-8")
        visit(page.as_uri(), size=(760, 450), picture=FOLDER / HANGING)
        print(FOLDER / HANGING)


if __name__ == "__main__":
    main()
