"""Reports of fio, from text to records and a verdict."""
