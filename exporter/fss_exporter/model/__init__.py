"""Costs of operations, ceilings and the share in use, as arithmetic on frozen records, without input and output."""
