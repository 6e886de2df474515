"""Layers and links, computed over hosts that exist only as tables."""

from pathlib import Path

import pytest

from hark.errors import ConfinementError
from launcher.plan import Access, Grant, Plan
from launcher.view import Kind, Layer, canonical, lay_out

NO_LINKS: dict[str, str] = {}


def made(*grants: Grant, **changes: object) -> Plan:
    values = {
        "argv": ("a",),
        "executable": "/usr/bin/a",
        "workdir": "/home/u/p",
        "env": {},
        "grants": grants,
        "home": "/home/u",
    }
    return Plan(**(values | changes))  # type: ignore[arg-type]


def read(path: str, why: str = "-read") -> Grant:
    return Grant(path, Access.READ, why)


def write(path: str, why: str = "-write") -> Grant:
    return Grant(path, Access.WRITE, why)


def kinds(plan: Plan, links: dict[str, str] = NO_LINKS) -> list[tuple[str, str]]:
    return [(layer.path, layer.kind.value) for layer in lay_out(plan, links.get).layers]


def test_layers_come_parents_first_and_the_inner_one_wins() -> None:
    assert kinds(made(write("/home/u/p"), read("/home/u/p/vendor"), read("/usr"))) == [
        ("/home/u", "scratch"),
        ("/home/u/p", "write"),
        ("/home/u/p/vendor", "read"),
        ("/tmp", "scratch"),
        ("/usr", "read"),
        ("/var/tmp", "scratch"),
    ]


def test_home_is_private_unless_a_grant_holds_it() -> None:
    assert ("/home/u", "scratch") in kinds(made(write("/home/u/p")))
    assert ("/home/u", "scratch") not in kinds(made(read("/home")))
    assert ("/home/u", "write") in kinds(made(write("/home/u")))


def test_a_project_below_tmp_lies_over_the_private_tmp() -> None:
    assert kinds(made(write("/tmp/p"), home="/"))[:2] == [("/tmp", "scratch"), ("/tmp/p", "write")]


def test_the_wider_of_two_grants_of_one_path_is_in_force() -> None:
    assert ("/d", "write") in kinds(made(write("/d"), read("/d")))
    assert ("/d", "write") in kinds(made(read("/d"), write("/d")))


def test_what_a_layer_shows_already_is_not_mounted_again() -> None:
    plan = made(read("/usr", "system"), read("/bin", "system"))
    view = lay_out(plan, {"/bin": "usr/bin"}.get)
    assert Layer("/usr/bin", Kind.READ, "system") not in view.layers
    assert ("/bin", "usr/bin") in view.links


def test_hidden_wins_over_every_grant() -> None:
    view = lay_out(made(write("/home/u/p"), read("/keys/a"), hidden=("/keys",)), NO_LINKS.get)
    assert view.withheld == ("/keys/a",)
    assert [layer.path for layer in view.layers if layer.path.startswith("/keys")] == []


def test_hidden_by_way_of_a_link_is_hidden_where_it_leads() -> None:
    view = lay_out(made(read("/real/keys/a"), hidden=("/link",)), {"/link": "/real/keys"}.get)
    assert view.withheld == ("/real/keys/a",)


def test_covered_paths_are_followed_to_where_they_lie_but_a_protected_link_is_itself() -> None:
    links = {"/home/u/p": "/srv/p", "/srv/p/.env": "real.env", "/srv/p/hooks": "elsewhere"}
    view = lay_out(
        made(
            write("/home/u/p"),
            masked=("/home/u/p/.env",),
            protected=("/home/u/p/hooks", "/hooks"),
            hidden=("/home/u/p/runs",),
        ),
        links.get,
    )
    assert view.masked == ("/srv/p/real.env",)
    assert view.protected == ("/srv/p/hooks", "/hooks")
    assert view.hidden == ("/srv/p/runs",)


def test_the_nearest_layer_shows_a_path() -> None:
    view = lay_out(made(write("/home/u/p"), read("/home/u/p/v")), NO_LINKS.get)
    found = [view.nearest(path) for path in ("/home/u/p/v/x", "/home/u/p/x", "/home/u/x", "/x")]
    assert [layer and layer.path for layer in found] == ["/home/u/p/v", "/home/u/p", "/home/u", None]


@pytest.mark.parametrize("path", ["/", "/proc", "/proc/1", "/dev/kvm", "/sys", "/sys/fs/cgroup"])
def test_what_would_reach_around_the_boundary_cannot_be_granted(path: str) -> None:
    with pytest.raises(ConfinementError, match="cannot grant"):
        lay_out(made(read(path)), NO_LINKS.get)


def test_a_link_to_the_root_is_the_root() -> None:
    with pytest.raises(ConfinementError, match="whole file system"):
        lay_out(made(write("/everything")), {"/everything": "/"}.get)


def test_the_number_of_processors_may_be_read_but_not_written() -> None:
    assert ("/sys/devices/system/cpu", "read") in kinds(made(read("/sys/devices/system/cpu")))
    with pytest.raises(ConfinementError):
        lay_out(made(write("/sys/devices/system/cpu")), NO_LINKS.get)


@pytest.mark.parametrize(
    ("path", "links", "expected"),
    [
        ("/a/b", {}, "/a/b"),
        ("/a/../../b/./c/", {}, "/b/c"),
        ("/home/u", {"/home": "var/home"}, "/var/home/u"),
        ("/a/b", {"/a": "/x", "/x/b": "../y"}, "/y"),
        ("/a", {"/a": "/b", "/b": "/c"}, "/c"),
    ],
)
def test_paths_are_followed_as_the_kernel_does(path: str, links: dict[str, str], expected: str) -> None:
    met: dict[str, str] = {}
    assert canonical(path, links.get, met) == expected
    assert met == links


def test_a_loop_of_links_and_a_relative_path_are_refused() -> None:
    with pytest.raises(ConfinementError, match="too many"):
        canonical("/a", {"/a": "/b", "/b": "/a"}.get, {})
    with pytest.raises(ConfinementError, match="absolute"):
        canonical("a", NO_LINKS.get, {})


def shown(path: str, source: str) -> Grant:
    return Grant(path, Access.WRITE, "project directory", source)


def test_a_source_is_shown_at_the_place_of_the_plan_whatever_the_host_has_there() -> None:
    links = {"/home": "/var/home", "/home/u/p": "/elsewhere", "/copy/lib": "src", "/home/u/p/lib": "/etc"}
    plan = made(
        shown("/home/u/p/", "/copy"), read("/home/u/p/lib/x"), masked=("/home/u/p/lib/.env",), home="/home/u"
    )
    view = lay_out(plan, links.get)
    found = [(layer.path, layer.origin) for layer in view.layers if layer.kind is not Kind.SCRATCH]
    assert found == [("/home/u/p", "/copy"), ("/home/u/p/src/x", "/home/u/p/src/x")]
    assert view.masked == ("/home/u/p/src/.env",)
    assert [layer.path for layer in view.layers if layer.kind is Kind.SCRATCH] == [
        "/home/u",
        "/tmp",
        "/var/tmp",
    ]


def test_without_a_source_the_hosts_links_count() -> None:
    links = {"/home": "/var/home", "/var/home/u/p": "/elsewhere"}
    assert ("/elsewhere", "write") in kinds(made(write("/home/u/p"), home="/home/u"), links)


def test_a_source_repeats_nothing() -> None:
    plan = made(read("/a", "system"), Grant("/a/b", Access.READ, "system", "/"))
    with pytest.raises(ConfinementError, match="which is granted, lacks it"):
        lay_out(plan, NO_LINKS.get)  # the place would have to be made in the host's tree
    both = made(Grant("/a", Access.READ, "x", "/s"), Grant("/a/b", Access.READ, "x", "/t"))
    assert [layer.origin for layer in lay_out(both, NO_LINKS.get).layers if layer.source] == ["/s", "/t"]


def test_a_source_below_a_link_in_a_granted_tree_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    good = made(read(str(tmp_path)), shown(f"{tmp_path}/real", "/copy"))
    assert any(layer.source == "/copy" for layer in lay_out(good).layers)
    with pytest.raises(ConfinementError, match="cannot show /copy"):
        lay_out(made(read(str(tmp_path)), shown(f"{tmp_path}/link", "/copy")))
