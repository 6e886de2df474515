"""Classes made with and without `hark.deferring`, compared: what one does or refuses, the other does too."""

import collections
import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, dataclass, field
from types import SimpleNamespace
from typing import ClassVar, Generic, NamedTuple, TypeVar

import pytest

from hark import deferring

BUILDER = getattr(dataclasses, "_FuncBuilder", None)
METHOD = "add_fns_to_class"


@pytest.fixture
def shared(monkeypatch):
    monkeypatch.setitem(vars(collections), "eval", eval)  # to be put back, as the others
    monkeypatch.setattr(re, "compile", re.compile)
    if BUILDER is not None:
        monkeypatch.setattr(BUILDER, METHOD, getattr(BUILDER, METHOD))
    deferring.install()


@pytest.fixture
def deferred(shared):
    if BUILDER is None:
        pytest.skip("this Python makes dataclasses in another way")


def classes():
    """Return classes of every kind that hark and mitmproxy have."""

    @dataclass
    class Plain:
        a: int
        b: list[int] = field(default_factory=list)
        c: str = field(default="x", repr=False, compare=False)
        count: ClassVar[int] = 3

    @dataclass(frozen=True, slots=True)
    class Frozen:
        """Has a docstring."""

        a: "int"
        b: tuple[int, ...] = ()

    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        a: int

    @dataclass(kw_only=True)
    class Named:
        a: int
        b: int = 2

    @dataclass(eq=False, repr=False)
    class Bare:
        a: int

        def __repr__(self):
            return "mine"

    @dataclass(frozen=True)
    class Hashed:
        a: int

        def __hash__(self):
            return 7

    @dataclass(slots=True)
    class Later:
        a: int
        doubled: int = field(init=False)

        def __post_init__(self):
            self.doubled = self.a * 2

    @dataclass
    class Below(Plain):
        d: int = 4

        def __post_init__(self):
            self.a += 1

    @dataclass(slots=True)
    class BelowSlots(Later):
        e: int = 5

    class Abstract(ABC):
        @abstractmethod
        def do(self):
            raise NotImplementedError

    @dataclass
    class Concrete(Abstract):
        a: int

        def do(self):
            return self.a

    class Wrapping(Named):
        def __init__(self, a):
            super().__init__(a=a + 1)

    return SimpleNamespace(**{name: one for name, one in locals().items() if name != "Abstract"})


def outcome(call, *values, **named):
    """What a call returns, or how it refuses."""
    try:
        return call(*values, **named)
    except Exception as error:
        return type(error), str(error)


def behaviour(kinds):
    """Everything that shows of the classes."""
    seen = {}
    for name, kind in vars(kinds).items():
        makings = ({"a": 1}, {"a": 1, "b": (2,)}, {"a": 1, "b": [2], "c": "y"}, {}, {"z": 1})
        made = [outcome(kind, **making) for making in makings]
        made += [outcome(kind, 1), outcome(kind, 1, (2,)), outcome(kind, 1, 2, 3, 4)]
        found = [one for one in made if isinstance(one, kind)]
        texts = [repr(one).partition(" object at")[0] for one in made]
        same = [[one == other for other in made] for one in made]
        hashes = [outcome(hash, one) for one in found] if kind.__eq__ is not object.__eq__ else []
        order = [outcome(lambda one=one, other=other: one < other) for one in found for other in found]
        changed = [repr(outcome(dataclasses.replace, one, a=9)) for one in found if name != "Bare"]
        writes = [outcome(setattr, one, "a", 5) for one in found] + [repr(found)] * (name != "Bare")
        deleted = [outcome(delattr, one, "a") for one in found]
        names = [(one.name, one.type, one.init, one.repr) for one in dataclasses.fields(kind)]
        params = (kind.__match_args__, kind.__dataclass_params__, kind.__dict__.get("__slots__"))
        seen[name] = (texts, same, hashes, order, changed, writes, deleted, names, repr(params))
    return seen


def test_classes_do_and_refuse_the_same_whenever_their_methods_are_compiled(request):
    usual = behaviour(classes())
    request.getfixturevalue("deferred")
    assert behaviour(classes()) == usual


def compiled(kind):
    """Those of some methods that are there, and not what stands in for them."""
    return [name for name in ("__init__", "__eq__", "__hash__") if vars(kind)[name].__code__.co_name == name]


def test_each_method_is_compiled_when_it_is_called_and_then_stands_in_its_place(deferred):
    kind = classes().Frozen
    assert compiled(kind) == []
    one, other = kind(1), kind(1)
    assert compiled(kind) == ["__init__"]
    assert one == other
    assert compiled(kind) == ["__init__", "__eq__"]
    with pytest.raises(FrozenInstanceError):
        kind(1).a = 2


def test_without_it_they_are_compiled_at_once():
    assert compiled(classes().Frozen) == ["__init__", "__eq__", "__hash__"]


def test_what_is_called_first_may_be_any_method(deferred):
    kinds = classes()
    empty = object.__new__(kinds.Frozen)
    with pytest.raises(FrozenInstanceError):
        empty.a = 1
    one = object.__new__(kinds.Plain)
    vars(one).update(a=1, b=[])
    assert repr(one).endswith("Plain(a=1, b=[])")


def test_the_standard_library_refuses_at_once_what_it_refuses(deferred):
    with pytest.raises(TypeError, match="non-default argument"):

        @dataclass
        class _Wrong:
            a: int = 1
            b: int  # type: ignore[misc]

    with pytest.raises(TypeError, match="Cannot overwrite attribute __setattr__"):

        @dataclass(frozen=True)
        class _Own:
            a: int

            def __setattr__(self, name, value):
                raise NotImplementedError


Carried: type
"""Where a copy that was pickled finds its class."""


def test_values_are_copied_and_pickled(deferred, monkeypatch):
    kind = dataclass(frozen=True, slots=True)(
        type("Carried", (), {"__annotations__": {"a": int}, "__module__": __name__})
    )
    monkeypatch.setattr(sys.modules[__name__], "Carried", kind, raising=False)
    assert copy.copy(kind(3)) == pickle.loads(pickle.dumps(kind(3))) == kind(3)


def test_many_threads_may_be_the_first(deferred):
    kind = classes().Frozen
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(kind, range(400)))
    assert [one.a for one in made] == list(range(400))


def test_it_is_installed_once(deferred):
    before = getattr(BUILDER, METHOD)
    deferring.install()
    assert getattr(BUILDER, METHOD) is before
    assert classes().Plain(1).a == 1


T = TypeVar("T")


def tuples():
    """Return named tuples of every kind that hark and mitmproxy have, and of others."""

    class One(NamedTuple):
        a: int

    class Two(NamedTuple):
        a: int
        b: str = "x"

        @property
        def both(self):
            return f"{self.a}{self.b}"

    class Other(NamedTuple):
        c: int
        a: int

    class Of(NamedTuple, Generic[T]):
        a: T

    return {
        **{kind.__name__: kind for kind in (One, Two, Other, Of)},
        "none": collections.namedtuple("none", ""),
        "renamed": collections.namedtuple("renamed", "a class a", rename=True),
        "many": collections.namedtuple("many", [f"f{number}" for number in range(300)], defaults=[1] * 298),
    }


def shown(kind):
    """Everything that shows of a named tuple."""
    made = [outcome(kind, *values) for values in ((), (1,), (1, 2), (1, 2, 3))]
    made += [outcome(kind, **named) for named in ({"a": 1}, {"a": 1, "c": 2}, {"a": 1, "z": 2}, {"_cls": 1})]
    new = kind.__new__
    says = (new.__name__, new.__qualname__, new.__doc__, new.__module__, new.__defaults__)
    return repr(made), says, str(inspect.signature(new)), new.__code__.co_code, new.__code__.co_varnames


def test_named_tuples_do_and_refuse_the_same_whichever_their_constructor_was_copied_from(request):
    usual = {name: shown(kind) for name, kind in tuples().items()}
    request.getfixturevalue("shared")
    for _ in range(2):
        assert {name: shown(kind) for name, kind in tuples().items()} == usual


def test_constructors_of_as_many_fields_share_what_is_compiled_and_no_names(shared):
    compiled_before = deferring._of_as_many.cache_info()
    kinds = tuples()
    after = deferring._of_as_many.cache_info()
    assert after.hits > compiled_before.hits
    two, other = kinds["Two"].__new__, kinds["Other"].__new__
    assert two.__code__.co_varnames == ("_cls", "a", "b")
    assert other.__code__.co_varnames == ("_cls", "c", "a")
    assert kinds["Two"](1).both == "1x"
    with pytest.raises(TypeError):
        kinds["Other"](1)


def test_any_other_text_is_evaluated(shared):
    evaluate = vars(collections)["eval"]
    assert evaluate("1 + x", {"x": 2}) == 3
    assert evaluate("lambda _cls, a: _tuple_new(_cls, (a, 2))", {"_tuple_new": max})((0,), 1) == (1, 2)
    with pytest.raises(SyntaxError):
        evaluate("lambda _cls, ", {})


def test_named_tuples_that_are_refused_are_refused(shared):
    for names in ("a a", "class", "_a", "1"):
        with pytest.raises(ValueError, match=r"(?i)field name"):
            collections.namedtuple("Wrong", names)


NAMED = """
import re, sys, types
from hark import deferring
deferring.install()
def module(name):
    made = types.ModuleType(name)
    text = "import re\\nword = re.compile('(?P<a>[a-z]+)-', re.I)\\ndef own(): return re.compile('x')\\n"
    text += "class C:\\n word = re.compile(b'y')\\n"
    exec(compile(text, name, "exec"), vars(made))
    return made
"""


def said(code):
    done = subprocess.run([sys.executable, "-c", NAMED + code], capture_output=True, check=True, text=True)
    return done.stdout.split()


@pytest.mark.parametrize(("name", "later"), [("mediator.x", True), ("hark.a.b", True), ("harks", False)])
def test_an_expression_that_a_module_of_ours_names_is_compiled_when_it_is_used(name, later):
    code = f"m = module({name!r})\nprint(*(type(one).__module__ for one in (m.word, m.own(), m.C.word)))"
    assert said(code) == ["hark.deferring" if later else "re", "re", "re"]


USED = """
word = module(sys.argv[1]).word
print(word.pattern, word.flags, word.groups, *word.groupindex, word.fullmatch("Ab-")["a"], word.search("-"))
print(word.sub("<\\\\g<a>>", "q-r-"), *word.split("a-b"), *word.findall("a-b-"), word.match("z-")[0])
print(len(list(word.finditer("a-b-"))), word.subn("", "a-")[1], hasattr(word, "no"), hasattr(word, "__len__"))
"""


def test_it_does_what_a_compiled_one_does():
    names = ("hark.a", "another")
    ours, others = (
        subprocess.run([sys.executable, "-c", NAMED + USED, name], capture_output=True, check=True, text=True)
        for name in names
    )
    assert ours.stdout == others.stdout != ""


def test_one_that_is_wrong_is_refused_when_it_is_used():
    code = "text = 'import re; wrong = re.compile(\"(\")'\nm = {'__name__': 'hark.wrong'}\nexec(text, m)\n"
    assert said(code + "try:\n m['wrong'].match('')\nexcept re.error:\n print('refused')") == ["refused"]
