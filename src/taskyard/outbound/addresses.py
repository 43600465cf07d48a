"""Where the yard may send things: public addresses, and what its operator allowed besides.

An address is judged by what it reaches. IPv6 has many ways to spell an IPv4 address that some gateway translates; none
of them is public, whatever is inside. Nothing here looks up a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from taskyard.core.errors import InvalidInput

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NOT_PUBLIC = tuple(
    ip_network(each)
    for each in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
        *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # a public address by its number, behind which Azure answers about the machine itself
        # Of IPv6 only 2000::/3 is given out; within it: protocols (Teredo among them), documentation, 6to4.
        *("::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)
_NAME = re.compile(r"(?=.{1,253}\.?$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*\.?", re.ASCII)


class AllowedTargets(NamedTuple):
    """What an operator allows though it is not public."""

    hosts: frozenset[str]  # by name: whatever address such a name has
    networks: tuple[Network, ...]


def allowed(entries: Iterable[str]) -> AllowedTargets:
    """Networks such as 10.1.0.0/16, addresses, and names of hosts."""
    hosts: set[str] = set()
    networks: list[Network] = []
    for entry in entries:
        try:
            networks.append(ip_network(entry.strip(), strict=False))
        except ValueError:
            hosts.add(checked_host(entry.strip(), "allowed_targets"))
    return AllowedTargets(frozenset(hosts), tuple(networks))


def checked_host(host: str, path: str) -> str:
    """A host as it is written in a URL, without brackets, in small letters."""
    name = host.lower().removesuffix(".")
    try:
        return str(ip_address(name))
    except ValueError:
        pass  # a name, then
    if not _NAME.fullmatch(name):
        raise InvalidInput(path, "must name a host or an address")
    return name


def is_reachable(address: str, host: str, permitted: AllowedTargets) -> bool:
    """Whether something may be sent to this address, which the host's name stands for."""
    found = ip_address(address.partition("%")[0])
    if host in permitted.hosts or _is_within(found, permitted.networks):
        return True
    return not _is_within(found, _NOT_PUBLIC)


def _is_within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
