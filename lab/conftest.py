"""What holds for tests holds for evidence too: the project's own command on PATH, and no environment of the developer."""

from tests.conftest import environment

__all__ = ["environment"]
