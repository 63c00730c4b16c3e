"""docs/dependencies.md names every locked distribution with its version and licence."""

from email.message import Message
from typing import Any

import oci._vendor.requests
import oci._vendor.sseclient.version
import pytest
from tools.generate.dependencies import OF_SDK, PAGE, licence_of, linked, locked, render
from tools.release.bill_of_materials import with_copies, with_linked

BILL: dict[str, Any] = {
    "metadata": {"component": {"bom-ref": "program"}},
    "components": [{"bom-ref": "click", "name": "click"}],
    "dependencies": [{"ref": "click"}, {"ref": "program", "dependsOn": ["click"]}],
}


def test_the_page_is_that_of_the_lock_files() -> None:
    assert PAGE.read_text() == render(), "run: make dependencies"


def test_no_distribution_is_without_a_licence() -> None:
    assert "not stated" not in PAGE.read_text()


def test_the_lesser_gpl_of_the_poller_is_named_and_the_agent_has_none() -> None:
    assert "- crc32c (LGPL-2.1-or-later)" in PAGE.read_text()
    copyleft = [line[2:].partition(" (")[0] for line in PAGE.read_text().splitlines() if line.startswith("- ")]
    assert copyleft
    assert set(copyleft).isdisjoint(locked("agent"))


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ([("License-Expression", "MIT"), ("License", "other")], "MIT"),
        ([("License", "Apache-2.0")], "Apache-2.0"),
        ([("License", "long\ntext"), ("Classifier", "License :: OSI Approved :: BSD License")], "BSD License"),
        ([("License", "x" * 61), ("Classifier", "License :: OSI Approved :: MIT License")], "MIT License"),
        ([], "not stated"),
    ],
)
def test_a_licence_is_found_wherever_the_metadata_have_it(fields: list[tuple[str, str]], licence: str) -> None:
    about = Message()
    for name, value in fields:
        about[name] = value
    assert licence_of(about) == licence


def test_a_bill_with_the_oci_sdk_names_the_copies_inside_it_with_the_versions_of_their_files() -> None:
    with_sdk = {
        **BILL,
        "components": [*BILL["components"], {"bom-ref": "oci-L7", "name": "oci"}],
        "dependencies": [*BILL["dependencies"], {"ref": "oci-L7"}],
    }
    bill = with_copies(with_sdk)
    copies = {part["name"]: part for part in bill["components"] if part["bom-ref"].startswith("oci/_vendor/")}
    assert copies.keys() == OF_SDK.keys()
    assert copies["requests"]["purl"] == f"pkg:pypi/requests@{oci._vendor.requests.__version__}"
    assert copies["sseclient"]["version"] == oci._vendor.sseclient.version.version
    assert "version" not in copies["httpsig_cffi"], "it states none"
    assert {"ref": "oci-L7", "dependsOn": sorted(part["bom-ref"] for part in copies.values())} in bill["dependencies"]


def test_the_page_and_a_bill_name_the_openssl_inside_the_wheel_that_signs_requests() -> None:
    (openssl,) = linked("cryptography")
    assert openssl.name == "openssl"
    assert f"| cryptography | openssl | {openssl.version} |" in PAGE.read_text()

    with_wheel = {
        **BILL,
        "components": [*BILL["components"], {"bom-ref": "cryptography-L1", "name": "cryptography"}],
        "dependencies": [*BILL["dependencies"], {"ref": "cryptography-L1"}],
    }
    bill = with_linked(with_wheel)
    (part,) = (part for part in bill["components"] if part["name"] == "openssl")
    assert part["purl"].startswith(f"pkg:generic/openssl@{openssl.version}")
    assert {"ref": "cryptography-L1", "dependsOn": [part["bom-ref"]]} in bill["dependencies"]


def test_a_bill_without_the_oci_sdk_and_without_a_wheel_that_links_a_library_stays_as_it_is() -> None:
    assert with_copies(BILL) == with_linked(BILL) == BILL
