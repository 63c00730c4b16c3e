# SPDX-License-Identifier: Apache-2.0
"""The identifiers of OCI, in the form of today and in that of 2016, which the oldest tenancies and compartments keep.

Today: `ocid1.<type>.<realm>.[region].<unique>`. Of 2016: `ocidv1:<type>:<realm>:<region>:<time>:<unique>`.
Source: OCI documentation, Resource Identifiers, and the pattern of the SDK (oci/config.py), which takes both.
"""

import re
from typing import Final

_FORMS: Final = r"(?:ocid1\.{type}(?:\.+[A-Za-z0-9_-]+)+|ocidv1:{type}(?::+[A-Za-z0-9_-]+)+)"
OCID: Final = re.compile(_FORMS.format(type="[a-z0-9]+"))  # an OCID in a text, without the full stop of a sentence

BEGINNING: Final = "ocidv?1[.:]"
"""How an OCID begins, for texts that have no other pattern."""

_BEGINNINGS: Final = ("ocid1.", "ocidv1:")


def pattern(kind: str) -> str:
    """Return a pattern for the OCIDs of a type, such as `vcn`."""
    return _FORMS.format(type=kind)


def looks_like_ocid(text: str) -> bool:
    """Whether a text is meant as an OCID, and not as a name."""
    return text.startswith(_BEGINNINGS)


def parts_of(ocid: str) -> list[str]:
    """Return the parts between the separators: version, type, realm, region and more. Empty for another text."""
    return re.split("[.:]", ocid) if looks_like_ocid(ocid) else []


def kind_of(ocid: str) -> str:
    """Return the type of the resource, such as `tenancy`. Empty for another text."""
    return "".join(parts_of(ocid)[1:2])
