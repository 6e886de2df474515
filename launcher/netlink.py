"""Netlink: pyroute2's message codecs over a plain socket, all messages of one step in one send.

The codecs are all that is used of pyroute2. Its package `__init__` imports every protocol it knows, its
sockets bring an event loop with TLS, and its settings processes: together they cost several times what the
launcher does. So this module is imported in the launcher's own child only, and puts stand-ins for those three
in place first. Every message is acknowledged or OSError says which one was not.
"""

import importlib.util
import os
import socket
import struct
import sys
from types import ModuleType
from typing import Any, Final, NamedTuple


def _stand_in(package: str, sockets: str) -> None:
    """Make submodules of `package` importable without `__init__`, settings and the module `sockets`."""
    if package in sys.modules:
        return
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    sys.modules[package] = importlib.util.module_from_spec(spec)
    empty = ModuleType(sockets)
    # Bases of socket classes that are defined beside the codecs and that nobody here instantiates.
    vars(empty).update(AsyncNetlinkSocket=object, NetlinkSocket=object)
    sys.modules[sockets] = empty
    settings = ModuleType(f"{package}.config")
    vars(settings).update(
        AF_BRIDGE=socket.AF_BRIDGE, machine=os.uname().machine, data_plugins_pkgs=[], data_plugins_path=[]
    )
    sys.modules[settings.__name__] = settings


_stand_in("pyroute2", "pyroute2.netlink.nlsocket")  # hence the imports below it

from pyroute2.netlink.nfnetlink import nfgen_msg  # type: ignore[import-untyped]  # noqa: E402
from pyroute2.netlink.nfnetlink.nftsocket import (  # type: ignore[import-untyped]  # noqa: E402
    nft_chain_msg,
    nft_rule_msg,
    nft_table_msg,
)
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg  # type: ignore[import-untyped]  # noqa: E402
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg  # type: ignore[import-untyped]  # noqa: E402
from pyroute2.netlink.rtnl.ndmsg import ndmsg  # type: ignore[import-untyped]  # noqa: E402
from pyroute2.netlink.rtnl.rtmsg import rtmsg  # type: ignore[import-untyped]  # noqa: E402

NETLINK_ROUTE: Final = 0
NETLINK_NETFILTER: Final = 12

_REQUEST: Final = 0x1
_ACK: Final = 0x4
_CREATE: Final = 0x400
_EXCL: Final = 0x200
_APPEND: Final = 0x800
_ERROR: Final = 0x2
_RTM_NEWLINK: Final = 16
_RTM_NEWADDR: Final = 20
_RTM_NEWROUTE: Final = 24
_RTM_NEWNEIGH: Final = 28
_NFNL_SUBSYS_NFTABLES: Final = 10
_NFNL_BATCH_BEGIN: Final = 0x10
_NFNL_BATCH_END: Final = 0x11
_IFF_UP: Final = 0x1
_IFA_F_NODAD: Final = 0x2  # nobody else can hold the address, and a probe would delay the first packet
_NUD_PERMANENT: Final = 0x80
_RT_TABLE_MAIN: Final = 254
_RTPROT_BOOT: Final = 3
_RTN_UNICAST: Final = 1
_ADDR_GEN_NONE: Final = 1  # no link-local address: nothing but our own two addresses on the link

_HEADER: Final = struct.Struct("=IHHII")
_ERROR_CODE: Final = struct.Struct("=i")

type Message = tuple[str, Any]
"""What the message does, in words for an error, and the pyroute2 message."""
type Attributes = list[tuple[str, Any]]


def _message(kind: type, number: int, flags: int, fields: dict[str, int], attributes: Attributes) -> Any:
    message = kind()
    message["header"]["type"] = number
    message["header"]["flags"] = _REQUEST | flags
    for name, value in fields.items():
        message[name] = value
    message["attrs"] = attributes
    return message


def transact(protocol: int, messages: list[Message]) -> None:
    """Send `messages` in one datagram and read an acknowledgement for each that asks for one."""
    data = bytearray()
    awaited: dict[int, str] = {}
    for number, (name, message) in enumerate(messages, start=1):
        message["header"]["sequence_number"] = number
        message.encode()
        data += message.data
        if message["header"]["flags"] & _ACK:
            awaited[number] = name
    with _open(protocol) as channel:
        channel.bind((0, 0))
        channel.sendto(data, (0, 0))
        while awaited:
            _read_acknowledgements(channel.recv(1 << 16), awaited)


def _open(protocol: int) -> socket.socket:
    try:
        return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
    except OSError as error:
        name = "open nft channel" if protocol == NETLINK_NETFILTER else "open route channel"
        raise OSError(error.errno, error.strerror, name) from error


def _read_acknowledgements(data: bytes, awaited: dict[int, str]) -> None:
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, kind, _flags, number, _port = _HEADER.unpack_from(data, offset)
        if kind == _ERROR:
            (code,) = _ERROR_CODE.unpack_from(data, offset + _HEADER.size)
            name = awaited.pop(number, "netlink batch")
            if code:
                raise OSError(-code, os.strerror(-code), name)
        offset += max((length + 3) & ~3, _HEADER.size)


class End(NamedTuple):
    """One end of a veth pair."""

    name: str
    address: str


def veth(here: End, there: End, namespace: int, index: int) -> Message:
    """A veth pair, one end here and one in `namespace`, both with interface number `index`."""
    peer: dict[str, Any] = {
        "index": index,
        "attrs": [
            ("IFLA_IFNAME", there.name),
            ("IFLA_ADDRESS", there.address),
            ("IFLA_NET_NS_FD", namespace),
        ],
    }
    data = {"attrs": [("VETH_INFO_PEER", peer)]}
    attributes: Attributes = [
        ("IFLA_IFNAME", here.name),
        ("IFLA_ADDRESS", here.address),
        ("IFLA_LINKINFO", {"attrs": [("IFLA_INFO_KIND", "veth"), ("IFLA_INFO_DATA", data)]}),
    ]
    flags = _ACK | _CREATE | _EXCL
    return f"create veth {here.name}", _message(ifinfmsg, _RTM_NEWLINK, flags, {"index": index}, attributes)


def link_up(index: int) -> Message:
    """Bring up interface `index`."""
    fields = {"index": index, "flags": _IFF_UP, "change": _IFF_UP}
    return f"bring up interface {index}", _message(ifinfmsg, _RTM_NEWLINK, _ACK, fields, [])


def no_link_local(index: int) -> Message:
    """Let interface `index` have no IPv6 address but those it is given."""
    inet6 = {"attrs": [("IFLA_INET6_ADDR_GEN_MODE", _ADDR_GEN_NONE)]}
    spec: Attributes = [("IFLA_AF_SPEC", {"attrs": [("AF_INET6", inet6)]})]
    fields = {"index": index}
    return f"set address mode of interface {index}", _message(ifinfmsg, _RTM_NEWLINK, _ACK, fields, spec)


def _family(address: str) -> int:
    return int(socket.AF_INET6 if ":" in address else socket.AF_INET)


def address(index: int, value: str, prefix: int) -> Message:
    """Give interface `index` an address."""
    family = _family(value)
    flags = _IFA_F_NODAD if family == socket.AF_INET6 else 0
    fields = {"family": family, "prefixlen": prefix, "index": index, "flags": flags}
    attributes: Attributes = [("IFA_ADDRESS", value), ("IFA_LOCAL", value), ("IFA_FLAGS", flags)]
    return f"add address {value}", _message(ifaddrmsg, _RTM_NEWADDR, _ACK | _CREATE, fields, attributes)


def neighbour(index: int, value: str, link_address: str) -> Message:
    """Say for good who has `value`: the ruleset rejects the packets that would ask."""
    fields = {"family": _family(value), "ifindex": index, "state": _NUD_PERMANENT}
    attributes: Attributes = [("NDA_DST", value), ("NDA_LLADDR", link_address)]
    return f"add neighbour {value}", _message(ndmsg, _RTM_NEWNEIGH, _ACK | _CREATE, fields, attributes)


def default_route(index: int, gateway: str) -> Message:
    """Send everything that is not local to `gateway`."""
    fields = {
        "family": _family(gateway),
        "table": _RT_TABLE_MAIN,
        "proto": _RTPROT_BOOT,
        "type": _RTN_UNICAST,
    }
    attributes: Attributes = [("RTA_GATEWAY", gateway), ("RTA_OIF", index)]
    return f"add route by {gateway}", _message(rtmsg, _RTM_NEWROUTE, _ACK | _CREATE, fields, attributes)


def _nft(kind: type, number: int, family: int, attributes: Attributes) -> Any:
    fields = {"nfgen_family": family}
    flags = _ACK | _CREATE | _APPEND
    return _message(kind, (_NFNL_SUBSYS_NFTABLES << 8) | number, flags, fields, attributes)


def nft_table(family: int, name: str) -> Message:
    """Create a table."""
    return f"create nft table {name}", _nft(nft_table_msg, 0, family, [("NFTA_TABLE_NAME", name)])


class Chain(NamedTuple):
    """A base chain."""

    name: str
    kind: str
    hook: int
    priority: int


def nft_chain(family: int, table: str, chain: Chain) -> Message:
    """Create a base chain that accepts what no rule of it decides."""
    hook = {"attrs": [("NFTA_HOOK_HOOKNUM", chain.hook), ("NFTA_HOOK_PRIORITY", chain.priority)]}
    attributes: Attributes = [
        ("NFTA_CHAIN_TABLE", table),
        ("NFTA_CHAIN_NAME", chain.name),
        ("NFTA_CHAIN_HOOK", hook),
        ("NFTA_CHAIN_TYPE", chain.kind),
        ("NFTA_CHAIN_POLICY", 1),
    ]
    return f"create nft {chain.kind} chain {chain.name}", _nft(nft_chain_msg, 3, family, attributes)


def nft_rule(family: int, table: str, chain: str, expressions: list[Any]) -> Message:
    """Append a rule."""
    attributes: Attributes = [
        ("NFTA_RULE_TABLE", table),
        ("NFTA_RULE_CHAIN", chain),
        ("NFTA_RULE_EXPRESSIONS", expressions),
    ]
    names = ", ".join(str(expression["attrs"][0][1]) for expression in expressions)
    return f"add nft rule ({names}) to {chain}", _nft(nft_rule_msg, 6, family, attributes)


def nft_batch(messages: list[Message]) -> list[Message]:
    """Enclose `messages` so that the kernel applies all of them or none."""
    begin = _message(nfgen_msg, _NFNL_BATCH_BEGIN, 0, {"res_id": _NFNL_SUBSYS_NFTABLES}, [])
    end = _message(nfgen_msg, _NFNL_BATCH_END, 0, {"res_id": _NFNL_SUBSYS_NFTABLES}, [])
    return [("begin nft batch", begin), *messages, ("end nft batch", end)]
