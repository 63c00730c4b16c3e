"""One file per command; the only place that builds and wires real parts."""
