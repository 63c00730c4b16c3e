"""A clock that a test turns by hand."""

NOW = 1_800_000_000.0  # a whole minute in January 2027

NOON = 1_795_003_200  # 12:00 UTC on 18 November 2026, for tests that count minutes


class Clock:
    """Seconds that stand still until a test turns them."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def pass_minutes(self, minutes: float) -> None:
        """Turn the clock."""
        self.now += 60 * minutes

    def wait(self, _: float) -> bool:
        """Return at once, without a turn. False: there is no request to stop."""
        return False
