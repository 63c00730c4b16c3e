"""The texts of findings and the checks that use them."""

import fnmatch
import re
from pathlib import Path
from string import Formatter

import fss_toolbox
from fss_toolbox.doctor.findings import Severity, texts

ROOT = Path(fss_toolbox.__file__).parent
PROJECT = Path(__file__).parents[3]
TEXTS = {name: cases for name, cases in texts().items() if name != "sources"}
KINDS = [f"{check}.{case}" for check, cases in TEXTS.items() for case in cases]
CODE = "\n".join(path.read_text() for folder in ("doctor", "cli") for path in (ROOT / folder).glob("*.py"))
CODE += (ROOT / "doctor" / "left_out.toml").read_text()


def test_each_text_has_a_severity_and_a_message_and_a_check_uses_the_text() -> None:
    for kind in KINDS:
        check, case = kind.split(".")

        assert TEXTS[check][case].keys() - {"fix", "source"} == {"severity", "message"}, kind
        assert TEXTS[check][case]["severity"].upper() in Severity.__members__, kind
        assert f'"{kind}"' in CODE or (f'finding_of(f"{check}.' in CODE and f'"{case}"' in CODE), kind


def test_each_finding_of_a_check_has_a_text() -> None:
    assert set(re.findall(r'finding_of\(\s*"([^"]+)"', CODE)) <= set(KINDS)


def test_a_warning_or_problem_names_the_fix() -> None:
    grave = {f"{check}.{case}" for check in TEXTS for case, text in TEXTS[check].items() if text["severity"] != "ok"}

    assert {kind for kind in grave if not TEXTS[kind.split(".")[0]][kind.split(".")[1]].get("fix")} == set()


def test_each_document_of_the_list_is_the_source_of_a_finding() -> None:
    used = {
        name
        for cases in TEXTS.values()
        for text in cases.values()
        for _, name, _, _ in Formatter().parse(text.get("source", ""))
        if name
    }

    assert used >= texts()["sources"].keys()


def test_each_page_that_a_finding_names_has_the_section() -> None:
    named = re.findall(r"(docs/[\w-]+\.md)(?:#([\w-]+))?", (ROOT / "doctor" / "findings.toml").read_text())
    headings = {
        page: {title.lower().replace(" ", "-") for title in re.findall(r"^#+ ([\w -]+)", text, re.MULTILINE)}
        for page, _ in named
        for text in [(PROJECT / page).read_text()]
    }

    assert named
    assert [(page, section) for page, section in named if section and section not in headings[page]] == []


def test_the_log_that_a_finding_names_is_that_of_the_shipped_units() -> None:
    units = [unit.stem for unit in (PROJECT / "deploy/systemd").glob("*.service")]
    patterns = re.findall(r"journalctl -u '?([\w*-]+)", (ROOT / "doctor" / "findings.toml").read_text())

    assert patterns
    assert [pattern for pattern in patterns if not fnmatch.filter(units, pattern)] == []
