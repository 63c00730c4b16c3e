"""advisories.py PIP-AUDIT REQUIREMENTS...: look up known vulnerabilities of locked versions in the advisory database of PyPI.

Exit code 1 if there is an advisory, and 3 if the database has no answer for a version. Then nothing is known about that version.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

FOUND, NOT_ASKED = 1, 3
WHAT_TO_DO = (
    "Whether there is an advisory is not known. Run `make advisories` where the JSON pages of PyPI can be reached. A mirror of the index "
    "often does not have them."
)


def verdict(answer: Mapping[str, Any]) -> tuple[int, list[str]]:
    """The exit code for an answer of `pip-audit --format json`, and its lines."""
    asked = answer["dependencies"]
    silent = [entry["name"] for entry in asked if "skip_reason" in entry]
    lines = [
        f"{entry['name']} {entry['version']}: {advisory['id']}, fixed in {', '.join(advisory['fix_versions']) or 'no version'}"
        for entry in asked
        for advisory in entry.get("vulns", ())
    ]
    code = FOUND if lines else 0
    if silent or not asked:
        lines.append(could_not_ask(f"no answer for {len(silent)} of {len(asked)} versions: {', '.join(silent)}"))
        code = code or NOT_ASKED
    return code, lines or [f"no known advisory for {len(asked)} versions"]


def could_not_ask(why: str) -> str:
    return f"COULD NOT ASK: {why}\n{WHAT_TO_DO}"


def audit(program: str, requirements: Sequence[str]) -> tuple[int, list[str]]:
    """Ask about the versions of files with hashes."""
    files = [word for name in requirements for word in ("--requirement", name)]
    command = [program, "--format", "json", "--progress-spinner", "off", "--disable-pip", "--require-hashes", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return NOT_ASKED, [could_not_ask(f"pip-audit ended with {done.returncode}\n{done.stderr.strip()}")]
    return verdict(answer)


if __name__ == "__main__":
    if len(sys.argv) < len(("script", "program", "file")):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    code, said = audit(sys.argv[1], sys.argv[2:])
    print("\n".join(said))
    sys.exit(code)
