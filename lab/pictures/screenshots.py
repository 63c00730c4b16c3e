"""Pictures of the demo's status page for the README: `make screenshots`."""

import tempfile
from pathlib import Path

from tests.e2e.browser import visit
from tests.processes import demo, get, wait_for

FOLDER = Path(__file__).parents[2] / "docs" / "images"
PICTURES = {
    "status-page.png": ((1120, 700), False),
    "status-page-dark-phone.png": ((390, 760), True),
}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, demo(Path(folder)) as url:
        wait_for(lambda: "Means of the last" in get(url), "rates on the page")
        for name, (size, dark) in PICTURES.items():
            visit(url, size=size, dark=dark, picture=FOLDER / name)
            print(FOLDER / name)


if __name__ == "__main__":
    main()
