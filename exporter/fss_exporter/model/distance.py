"""Distance between client and mount target, judged by the round trip of the network."""

from typing import Final

FAR_SECONDS: Final = 0.002
"""A longer round trip means that client and mount target are in different availability domains. Assumption, November 2026."""

OTHER_REGION_SECONDS: Final = 0.010
"""A longer round trip means that client and mount target are in different regions. Assumption, November 2026."""


def distance_advice(round_trip_seconds: float) -> str:
    """Return the advice of the white paper (version 2.0, August 2023) for this distance. Empty for a short distance."""
    if round_trip_seconds > OTHER_REGION_SECONDS:
        return (
            "do not mount across regions: run the program on an instance near the data, or stream the desktop of such an"
            " instance to the user"
        )
    if round_trip_seconds > FAR_SECONDS:
        return "keep clients and mount target in the same availability domain"
    return ""
