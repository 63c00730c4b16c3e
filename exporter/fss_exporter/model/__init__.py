"""Costs of operations, ceilings and the share in use, as arithmetic on frozen records. No module here reads or writes
anything.
"""
