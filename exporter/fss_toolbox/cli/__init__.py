"""Commands of the toolbox, with their flags and wiring, a file for each command."""
