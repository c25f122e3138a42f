"""The callers that connections are counted for."""

from ipaddress import ip_network

import pytest

from routes.http.connections import Connections


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("192.0.2.1", "::ffff:192.0.2.1"),
        ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff"),
        ("fe80::1%eth0", "fe80::2%eth1"),
        ("no address at all", "no address at all"),
    ],
)
def test_two_addresses_of_one_caller_share_its_connections(one: str, other: str):
    connections = Connections(1)
    caller = connections.admit(one)
    assert caller
    assert connections.admit(other) is None
    assert connections.refused == 1
    connections.release(caller)
    assert connections.admit(other)


@pytest.mark.parametrize(("one", "other"), [("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8:0:1::1")])
def test_callers_don_t_take_each_other_s_connections(one: str, other: str):
    connections = Connections(1)
    assert connections.admit(one)
    assert connections.admit(other)


@pytest.mark.parametrize("proxy", ["10.1.2.3", "::ffff:10.1.2.3", "fd00::1"])
def test_a_trusted_proxy_has_no_limit(proxy: str):
    connections = Connections(1, [ip_network("10.0.0.0/8"), ip_network("fd00::/8")])
    callers = [connections.admit(proxy) for _ in range(100)]
    assert None not in callers
    for caller in callers:
        connections.release(caller or "")
    assert connections.refused == 0


def test_a_limit_of_zero_is_none():
    connections = Connections(0)
    assert None not in [connections.admit("192.0.2.1") for _ in range(100)]
    connections.release("")
