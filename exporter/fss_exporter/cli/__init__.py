"""One file for each command. No other package builds and wires real parts."""
