"""Where the yard may send things, and a hundred addresses where it may not."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.outbound.addresses import allowed, checked_host, is_reachable

NOBODY = allowed(())
FORBIDDEN = (
    # This machine, and this network
    *(
        "127.0.0.1",
        "127.0.0.2",
        "127.100.0.1",
        "::3",
        "127.1.2.3",
        "127.255.255.254",
        "0.0.0.0",
        "0.1.2.3",
        "::1",
        "::",
        "::2",
        "::ffff",
    ),
    # Private
    *("10.0.0.0", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.20.1.1", "172.31.255.255", "192.168.0.1"),
    *("192.168.255.255", "fc00::1", "fd00::1", "fdff:ffff::1", "fd00:ec2::254", "fec0::1", "feff::1"),
    # Link-local, and what answers about machines in clouds
    *("169.254.0.1", "169.254.169.254", "169.254.170.2", "169.254.255.255", "fe80::1", "febf::1", "fe80::1%eth0"),
    *("168.63.129.16", "100.100.100.200", "fe80::a9fe:a9fe"),
    # Shared by a provider's customers, for tests, for documents, for protocols
    *("100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.0.8", "192.0.0.170", "192.0.2.1", "198.18.0.1"),
    *("198.19.255.255", "198.51.100.7", "203.0.113.9", "192.88.99.1", "2001:db8::1", "3fff::1", "3fff:fff::1"),
    *("2001::5", "2001:2::1", "2001:10::1", "2001:20::1", "2001:1ff::1", "100::1", "5f00::1"),
    # To many, to all, and to nobody yet
    *("224.0.0.1", "239.255.255.255", "232.0.0.1", "240.0.0.1", "255.255.255.255", "254.1.1.1", "ff02::1", "ff05::2"),
    *("ff00::", "ffff::", "4000::1", "6000::1", "8000::1", "a000::1", "c000::1", "e000::1", "1fff::1"),
    # IPv4 inside of IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo, ISATAP
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1"),
    *("::127.0.0.1", "::10.0.0.1", "::7f00:1", "::ffff:7f00:1", "0:0:0:0:0:ffff:a00:1", "::ffff:0:7f00:1"),
    *("64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b::808:808", "64:ff9b:1::7f00:1"),
    *("64:ff9b:1:fffe::a00:1", "2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::", "2002:808:808::1"),
    *("2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001::7f00:1", "2001:0:7f00:1::", "fe80::5efe:127.0.0.1"),
    "fe80::200:5efe:a00:1",
)
PUBLIC = ("8.8.8.8", "1.1.1.1", "93.184.216.34", "172.32.0.1", "100.63.255.255", "100.128.0.1", "192.167.1.1",
          "2606:4700::1111", "2a00:1450:4001::200e", "2001:4860:4860::8888", "3ffe::1")  # fmt: skip


def test_there_are_a_hundred_forbidden_addresses():
    assert len(set(FORBIDDEN)) >= 100


@pytest.mark.parametrize("address", FORBIDDEN)
def test_what_is_not_public_is_not_reached(address: str):
    assert not is_reachable(address, "host.example", NOBODY)


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_is_reached(address: str):
    assert is_reachable(address, "host.example", NOBODY)


def test_an_operator_may_allow_networks_addresses_and_hosts():
    permitted = allowed(("10.1.0.0/16", "192.168.7.7", "fd12::/16", "Intranet.Example."))

    assert is_reachable("10.1.255.1", "any.example", permitted)
    assert is_reachable("192.168.7.7", "any.example", permitted)
    assert is_reachable("fd12::9", "any.example", permitted)
    assert is_reachable("172.16.0.1", "intranet.example", permitted)
    assert not is_reachable("10.2.0.1", "any.example", permitted)
    assert not is_reachable("192.168.7.8", "any.example", permitted)
    assert not is_reachable("172.16.0.1", "other.example", permitted)
    assert not is_reachable("::ffff:10.1.0.1", "any.example", permitted)


@pytest.mark.parametrize(
    "entry", ["", " ", "10.0.0.0/33", "a b", "host/path", "http://host", "*", "*.example.org", "-x-"]
)
def test_what_is_neither_a_network_nor_a_host_cannot_be_allowed(entry: str):
    with pytest.raises(InvalidInput):
        allowed((entry,))


def test_a_host_is_known_by_one_name():
    assert checked_host("HOST.Example.", "target") == "host.example"
    assert checked_host("0:0:0:0:0:0:0:1", "target") == "::1"
