"""Which processes cause the load of each mount target, from `hist` triggers that count by thread."""
