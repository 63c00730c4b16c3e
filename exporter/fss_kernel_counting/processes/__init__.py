"""Find the processes behind the load of each mount target, with `hist` triggers that count by thread."""
