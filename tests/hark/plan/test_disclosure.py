"""A value that the record would have to hold is refused at the start, with key and line, and not shown."""

import base64

import pytest

from hark.errors import PolicyError
from hark.plan.disclosure import finder, refuse_in_policy, refuse_told
from hark.policy.model import Policy, Secret
from hark.policy.parse import parse_policy

VALUE = "sk-test-0123456789abcdefghij"
PLACEHOLDER = "sk-test-placeholderabcdefghi"
FIND = finder([Secret("KEY", VALUE, PLACEHOLDER, ("api.example",))])
HEAD = 'allow_hosts = ["api.example"]\n[secrets.KEY]\nhosts = ["api.example"]\n'
BASE64 = base64.b64encode(f"user:{VALUE}".encode()).decode()


def refused(text: str) -> str:
    with pytest.raises(PolicyError) as caught:
        refuse_in_policy(Policy(source="p.toml", raw=text.encode()), FIND)
    assert VALUE not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (f'{HEAD}[env.set]\nOTHER = "x"\nTOKEN = "{VALUE}"\n', "p.toml:6:1: env.set.TOKEN holds"),
        (f'{HEAD}[env.set]\r\nTOKEN = "Bearer {VALUE}"\r\n', "p.toml:5:1: env.set.TOKEN holds"),
        (f'{HEAD}[env.set]\nBASIC = "Basic {BASE64}"\n', "p.toml:5:1: env.set.BASIC holds"),
        (f'{HEAD}[env.set]\nTOKEN = "\\u0073{VALUE[1:]}"\n', "p.toml:5:1: env.set.TOKEN holds"),
        (f'{HEAD}[env.set]\nTOKEN = """\na\n{VALUE}"""\n', "p.toml:5:1: env.set.TOKEN holds"),
        (f'read_paths = ["~/a", "~/{VALUE}/b"]\n{HEAD}', "p.toml:1:22: read_paths holds"),
        (f'{HEAD}[[allow]]\nhost = "b.example"\npaths = ["/x/{VALUE}"]\n', "p.toml:6:10: allow.paths holds"),
        (f'{HEAD}[mcp.notes]\ncommand = ["notes", "--key", "{VALUE}"]\n', "mcp.notes.command holds"),
        (f'{HEAD}[env.set]\n"{VALUE}" = "x"\n', "p.toml:5:1: env.set.(a name that must not be shown) holds"),
        (f"{HEAD}# KEY was {VALUE} until May\n", "p.toml:4: a comment holds"),
        (f"# {VALUE}\n{HEAD}", "p.toml:1: a comment holds"),
        (f'{HEAD}[env.set]\nTOKEN = "x"  # {VALUE}\n', "p.toml:5: a comment holds"),
    ],
)
def test_a_value_in_a_policy_is_refused_by_key_and_line(text: str, where: str):
    parse_policy(text.replace(VALUE, "other").encode(), "p.toml")  # the control: else it is a policy like any
    said = refused(text)
    assert where in said
    assert said.endswith("the value of secrets.KEY, which neither agent nor record may have; take it out, "
                         "the agent has a placeholder")  # fmt: skip


@pytest.mark.parametrize("text", [HEAD, "", f'{HEAD}[env.set]\nTOKEN = "{PLACEHOLDER}"\n', f"# {VALUE[:20]}"])
def test_a_policy_without_a_value_passes(text: str):
    refuse_in_policy(Policy(source="p.toml", raw=text.encode()), FIND)


def test_without_secrets_nothing_is_looked_for():
    refuse_in_policy(Policy(source="p.toml", raw=VALUE.encode()), finder([]))


@pytest.mark.parametrize(
    ("argv", "env", "paths", "words"),
    [
        (("x", f"--key={VALUE}"), {}, {}, "the command's arguments hold"),
        (("x", BASE64), {}, {}, "the command's arguments hold"),
        ((), {"OTHER": VALUE}, {}, "the agent's variable OTHER holds"),
        ((), {"OTHER": BASE64}, {}, "the agent's variable OTHER holds"),
        ((), {}, {"-upstream": f"a={VALUE}"}, "-upstream holds"),
    ],
)
def test_a_value_in_what_else_is_recorded_is_refused(argv, env, paths, words: str):
    with pytest.raises(PolicyError, match=words) as caught:
        refuse_told(FIND, argv, env, paths)
    assert VALUE not in str(caught.value)
    assert BASE64 not in str(caught.value)


def test_placeholders_and_names_outside_utf_8_pass():
    refuse_told(FIND, ("x", PLACEHOLDER, "\udcff"), {"KEY": PLACEHOLDER}, {"a path": "/\udcff"})
