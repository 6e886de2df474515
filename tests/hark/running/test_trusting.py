"""What the agent is shown so that it trusts the run: certificates, in every place that programs look in."""

import dataclasses
import json
from datetime import UTC, datetime

from hark.plan.preparation import CA_BUNDLE, JAVA_STORE
from hark.running.trusting import files_for
from launcher.plan import GATEWAY_V4, Access, Grant, Plan
from mediator import trust
from mediator.ca import RunCA

CA = RunCA.create(datetime.now(UTC))
PLAN = Plan(("/bin/true",), "/bin/true", "/", {}, ())


def test_every_place_gets_the_certificate_and_none_the_key():
    files = files_for(CA, b"", PLAN, {})
    assert CA.pem() in files[CA_BUNDLE]
    assert files["/etc/resolv.conf"] == f"nameserver {GATEWAY_V4}\n".encode()
    assert {*trust.CHROMIUM_POLICIES} <= files.keys()
    assert not any(b"PRIVATE KEY" in content for content in files.values())


def test_nothing_is_put_into_a_folder_that_the_operator_grants():
    granted = dataclasses.replace(PLAN, grants=(Grant("/etc", Access.READ, "-read"),))
    assert not {*trust.CHROMIUM_POLICIES} & files_for(CA, b"", granted, {}).keys()


def test_a_java_store_is_made_where_a_jvm_is_told_of_it():
    told = dataclasses.replace(PLAN, env={"JAVA_TOOL_OPTIONS": f"-Dx={JAVA_STORE}"})
    assert JAVA_STORE in files_for(CA, b"", told, {})
    assert JAVA_STORE not in files_for(CA, b"", PLAN, {})


def test_a_chromium_is_told_of_the_certificate_alone():
    policy = json.loads(files_for(CA, b"", PLAN, {})[trust.CHROMIUM_POLICIES[0]])
    assert list(policy) == ["CACertificates"]
    assert len(policy["CACertificates"]) == 1
