"""The command-line grammar: one dash or two, before or after, with the value behind or within."""

import pytest

from hark.cli.spec import Option, Positional, Spec, parse, short, unknown
from hark.errors import UsageError

SPEC = Spec(
    "check",
    "check a thing",
    options=(
        Option("key", "pin", "HEX", repeat=True),
        Option("out", "where to", "FILE"),
        Option("n", "how many", "N"),
        Option("json", "machine-readable"),
    ),
    positionals=(Positional("THING", "what"), Positional("OTHER", "more", optional=True)),
)
STARTER = Spec(
    "run", "run it", options=(Option("o", "where to", "FILE"), Option("v", "loud")), command="the program"
)


@pytest.mark.parametrize(
    "words",
    [
        ["-out", "f", "-json", "thing"],
        ["--out", "f", "--json", "thing"],
        ["thing", "-out", "f", "-json"],
        ["thing", "--json", "--out=f"],
        ["-out=f", "thing", "-json"],
        ["-json", "-out", "f", "--", "thing"],
    ],
)
def test_options_are_read_with_one_dash_or_two_before_or_after_the_positional(words):
    args = parse(SPEC, words)
    assert (args.text("out"), args.flag("json"), args.positional("THING")) == ("f", True, "thing")
    assert args.optional("OTHER") is None


def test_an_option_that_was_not_given_is_none_empty_or_false():
    args = parse(SPEC, ["thing"])
    assert (args.text("out"), args.texts("key"), args.flag("json"), args.number("n")) == (
        None,
        (),
        False,
        None,
    )


def test_a_repeatable_option_keeps_its_values_in_order():
    assert parse(SPEC, ["-key", "b", "thing", "--key=a"]).texts("key") == ("b", "a")


def test_an_option_given_twice_is_refused_unless_it_may_be_repeated():
    with pytest.raises(UsageError, match="-out may be given only once"):
        parse(SPEC, ["-out", "a", "-out", "b", "thing"])


def test_a_value_may_be_empty_or_contain_an_equals_sign():
    args = parse(SPEC, ["thing", "-out=", "-key=a=b"])
    assert (args.text("out"), args.texts("key")) == ("", ("a=b",))


def test_behind_a_double_dash_nothing_is_an_option():
    args = parse(SPEC, ["--", "-json", "--"])
    assert (args.positional("THING"), args.optional("OTHER"), args.flag("json")) == ("-json", "--", False)


def test_a_lone_dash_is_a_positional():
    assert parse(SPEC, ["-"]).positional("THING") == "-"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["-jsno", "thing"],
            "hark check has no option -jsno; did you mean -json? (`hark help check` lists the options)",
        ),
        (
            ["--ou=f", "thing"],
            "hark check has no option -ou; did you mean -out? (`hark help check` lists the options)",
        ),
        (["-qqqqq", "thing"], "hark check has no option -qqqqq (`hark help check` lists the options)"),
        (["thing", "-out"], "-out needs a value: -out FILE"),
        (
            ["-out", "-json", "thing"],
            "-out needs a value, and -json is an option (if you mean it: -out=-json)",
        ),
        (["-out", "--", "thing"], "-out needs a value, and -- is an option (if you mean it: -out=--)"),
        (["-json=yes", "thing"], "-json is a switch and takes no value"),
        ([], f"hark check needs THING: {short(SPEC)}"),
        (["a", "b", "c"], f"hark check has no use for 'c': {short(SPEC)}"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused_in_one_sentence(words, sentence):
    with pytest.raises(UsageError) as caught:
        parse(SPEC, words)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("name", "near"),
    [("verison", "version"), ("VERIFY", "verify"), ("inpsect", "inspect"), ("rn", "run"), ("nope", ""),
     ("list", "ls"), ("x", ""), ("delete", ""), ("trace", "")],
)  # fmt: skip
def test_only_a_name_that_is_really_near_is_suggested(name, near):
    said = unknown("no such thing", name, ("run", "ls", "gc", "verify", "version", "inspect", "redact"))
    assert said == ("no such thing" + (f"; did you mean {near}?" if near else ""))


@pytest.mark.parametrize("value", ["-1", "+1", " 1", "1_0", "0x10", "1.0", "", "²", "9" * 20])
def test_a_number_is_plain_decimal_digits_only(value):
    args = parse(SPEC, [f"-n={value}", "thing"])
    with pytest.raises(UsageError, match="-n needs a whole number from 0"):
        args.number("n")


def test_a_number_is_read_from_zero():
    assert parse(SPEC, ["-n", "0", "thing"]).number("n") == 0
    assert parse(SPEC, ["-n=010", "thing"]).number("n") == 10


def test_the_first_word_that_is_no_option_starts_the_command_of_run():
    args = parse(STARTER, ["-o", "f", "sh", "-v", "--", "-o"])
    assert (args.text("o"), args.flag("v"), args.command) == ("f", False, ("sh", "-v", "--", "-o"))


def test_a_double_dash_starts_the_command_of_run_and_is_not_part_of_it():
    args = parse(STARTER, ["-v", "--", "-odd", "--", "x"])
    assert (args.flag("v"), args.command) == (True, ("-odd", "--", "x"))


@pytest.mark.parametrize("words", [[], ["-v"], ["-v", "--"]])
def test_run_without_a_command_is_refused(words):
    with pytest.raises(UsageError, match="hark run needs a command to run"):
        parse(STARTER, words)


@pytest.mark.parametrize("word", ["-h", "--h", "-help", "--help"])
def test_help_is_asked_for_without_the_rest_making_sense(word):
    assert parse(SPEC, [word]).asks_help
    assert parse(SPEC, ["thing", word, "-bogus"]).asks_help
    assert not parse(SPEC, ["--", word]).asks_help


def test_a_help_word_of_the_command_to_run_belongs_to_that_command():
    args = parse(STARTER, ["ls", "--help"])
    assert not args.asks_help
    assert args.command == ("ls", "--help")


def test_asking_for_an_option_that_the_table_lacks_is_a_bug_and_raises():
    with pytest.raises(KeyError):
        parse(SPEC, ["thing"]).text("nosuch")


def test_an_error_shows_what_must_be_there_and_not_every_option():
    options = (Option("at", "", "EVENT", required=True), *(Option(f"o{n}", "", "X") for n in range(30)))
    spec = Spec("fork", "", options, (Positional("BUNDLE", ""), Positional("MORE", "", optional=True)))
    line = "hark fork -at EVENT [OPTION]... BUNDLE [MORE] (`hark help fork` lists the options)"
    assert short(spec) == line
    with pytest.raises(UsageError) as caught:
        parse(spec, ["-at", "1"])
    assert str(caught.value) == f"hark fork needs BUNDLE: {line}"
    assert short(Spec("run", "", command="the command")).startswith("hark run [--] COMMAND... (")


def test_an_argument_that_is_one_of_a_few_words_is_refused_with_those_words_before_others_are_missed():
    spec = Spec("policy", "", (), (Positional("check|explain", ""), Positional("FILE", "")))
    with pytest.raises(UsageError) as caught:
        parse(spec, ["chek"])
    assert str(caught.value).startswith(
        "hark policy has no 'chek'; did you mean check? It is one of check, explain:"
    )
    assert parse(spec, ["check", "x"]).positional("FILE") == "x"
    either = Spec("trust", "", (), (Positional("BUNDLE|KEY", ""),))
    assert parse(either, ["x"]).positional("BUNDLE|KEY") == "x"
