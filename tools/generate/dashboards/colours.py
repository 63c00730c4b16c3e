"""Colours of what is one thing in every panel: where a figure comes from, and the class of a request.

All other lines take Grafana's classic palette in their order, in which no two of the first eight are alike. Verdicts have the colours of
Grafana by name.
"""

# Four colours that people tell apart who see no red, green or blue, none of them that of a verdict. A test computes it.
_VIOLET, _MUSTARD, _MAGENTA, _CYAN = COLOURS = ("#6a47f5", "#c2a329", "#b80aa7", "#3dd6d6")

MEASURED, OF_OCI, OF_CLIENTS = "measured", "estimated from OCI", "estimated from clients"
SOURCE_COLOURS = {MEASURED: _VIOLET, OF_OCI: _MUSTARD, OF_CLIENTS: _CYAN}

CLASS_COLOURS = {"read": _VIOLET, "write": _MUSTARD, "metadata read": _CYAN, "metadata write": _MAGENTA}

# A size of requests and its objective have one colour.
SIZE_COLOURS = {"up to 8 KiB": _VIOLET, "8 KiB to 64 KiB": _MUSTARD, "64 KiB to 1 MiB": _CYAN}
