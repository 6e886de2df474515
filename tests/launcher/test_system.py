"""What every agent sees of the system."""

import os

from launcher.plan import Access
from launcher.system import system_grants


def test_every_grant_exists_is_read_only_and_says_that_it_is_the_systems() -> None:
    grants = system_grants()
    assert {(grant.access, grant.why) for grant in grants} == {(Access.READ, "system")}
    assert [grant.path for grant in grants if not os.path.exists(grant.path)] == []
    assert "/usr" in [grant.path for grant in grants]


def test_user_lists_host_keys_and_places_for_tokens_are_left_out() -> None:
    paths = {grant.path for grant in system_grants()}
    for secret in (
        "/etc",
        "/etc/shadow",
        "/etc/passwd",
        "/etc/ssh",
        "/etc/ssl",
        "/etc/environment",
        "/var",
        "/opt",
    ):
        assert secret not in paths
