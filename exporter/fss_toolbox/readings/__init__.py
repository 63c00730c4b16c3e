"""Saved files of mountstats and nfsiostat, and the rates between two readings."""
