"""fio's JSON reports, from text to records."""
