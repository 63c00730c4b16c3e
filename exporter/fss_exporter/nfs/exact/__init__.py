"""Exact mode: the kernel counts READs and WRITEs by size, and lock calls, in `hist` triggers of tracefs."""
