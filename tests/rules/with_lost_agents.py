"""A mount target whose agents are gone is not known, whatever OCI says of it."""

import pytest
from tests.rules.faults import Down, Work
from tests.rules.runner import judged
from tests.rules.site import Site, scraped

STATE = "mount_target:fss_state:max"


@pytest.mark.parametrize(
    ("fault", "state"),
    [(Down(hosts=1), 1), (Work(times=3, side="oci"), 0)],
    ids=["half of the agents die", "a client without an agent makes two thirds of the load"],
)
def test_fine_needs_the_agents_that_were_seen(fault: Down | Work, state: int) -> None:
    said = judged(scraped(Site(hosts=2, minutes=12), (fault,)), [STATE])

    states = {minute: samples[0].rpartition(" ")[2] for (_, minute), samples in said.samples.items() if samples}
    assert float(states[-1]) == 0
    assert float(states[12]) == state
