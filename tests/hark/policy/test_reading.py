"""Nodes: typed reading, and a place and a key in every refusal."""

import pytest

from hark.errors import PolicyError
from hark.policy.reading import load


def test_a_node_knows_its_key_and_its_place():
    node = load(b'[secrets.K]\n  hosts = [\n    "a", 1]', "p.toml").table("secrets")["secrets"]
    hosts = dict(dict(node.entries())["K"].entries())["hosts"]
    assert hosts.name == "secrets.K.hosts"
    with pytest.raises(PolicyError, match=r"^p\.toml:3:10: secrets\.K\.hosts must be a string"):
        hosts.items()[1].string()


def test_a_truth_value_is_no_number_and_a_number_no_truth_value():
    table = load(b"a = true\nb = 1", "p").table("a", "b")
    assert (table["a"].truth(), table["b"].number()) == (True, 1)
    with pytest.raises(PolicyError, match="whole number"):
        table["a"].number()
    with pytest.raises(PolicyError, match="true or false"):
        table["b"].truth()


@pytest.mark.parametrize("text", ["x = " + "[" * 5000 + "]" * 5000, "x = " + "1" * 5000])
def test_what_toml_allows_and_python_cannot_read_is_refused(text):
    with pytest.raises(PolicyError, match=r"^p"):
        load(text.encode(), "p").table()


def test_a_choice_names_what_there_is_and_what_was_meant():
    with pytest.raises(PolicyError, match=r'1:1: a is "web" or "tcp", not "wbe"; did you mean "web"\?'):
        load(b'a = "wbe"', "p").table("a")["a"].choice("web", "tcp")
