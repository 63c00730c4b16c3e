"""Tools write a part of a page between marks, and a page without the marks is no page of theirs."""

import pytest
from tools.generate.written_part import rewritten


def test_only_the_part_between_the_marks_changes() -> None:
    assert rewritten("a <b> old <e> c", "<b>", "<e>", " new ") == "a <b> new <e> c"


@pytest.mark.parametrize("page", ["", "<b>", "<e>", "<e> <b>", "<b> <b> <e>", "<b> <e> <e>"])
def test_a_page_without_one_part_between_the_marks_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="the page needs one part between <b> and <e>"):
        rewritten(page, "<b>", "<e>", "")
