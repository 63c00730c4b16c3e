"""The part of a page that a tool writes, between two marks."""


def rewritten(page: str, begin: str, end: str, part: str) -> str:
    """Return the page with this part between the marks. A ValueError names marks that the page does not have once each, in this order."""
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    if page.count(begin) != 1 or rest.count(end) != 1:
        raise ValueError(f"the page needs one part between {begin.strip()} and {end.strip()}")
    return f"{head}{begin}{part}{end}{tail}"
