import pytest
from tests.for_each import for_each


def test_each_case_runs_and_each_failure_names_its_case(tmp_path: object) -> None:
    ran = []

    @for_each("number, word", [(1, "one"), (2, "two"), (3, "three")])
    def odd(number: int, word: str, tmp_path: object) -> None:
        ran.append((number, word))
        assert number % 2, tmp_path

    with pytest.raises(ExceptionGroup, match="1 of 3 cases fail") as caught:
        odd(tmp_path=tmp_path)

    assert ran == [(1, "one"), (2, "two"), (3, "three")]
    (failure,) = caught.value.exceptions
    assert failure.__notes__ == ["of the case 2, two"]


def test_an_empty_table_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no case of number"):
        for_each("number", [])
