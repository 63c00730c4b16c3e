"""Programs that run inside of a guest."""
