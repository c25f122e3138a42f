"""The client's address of a request, behind trusted and other proxies."""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from ipaddress import ip_network
from typing import Any

import aiohttp
import pytest
from sanic import HTTPResponse, Request, Sanic, text

from actors.addresses import home_of, network_of
from actors.runtime.cluster.shards import SHARDS, shard_of
from routes.http.addresses import Network, client_address
from routes.http.bodies import whole_header

Ask = Callable[..., Awaitable[str]]

PROXIES = ("127.0.0.1/32", "10.0.0.0/8", "fd00::/8")


@pytest.fixture
async def seen(unique: str) -> AsyncIterator[Ask]:
    """Return a function that asks a real server with trusted networks for the client's address of its request."""
    app = Sanic(f"addresses-{unique}")
    app.config.AUTO_EXTEND = False
    app.config.MOTD = False
    app.config.TOUCHUP = False  # it rewrites Sanic's methods, which works once per process
    trusted: list[Network] = []

    @app.get("/")
    async def whom(request: Request) -> HTTPResponse:
        connection: Any = request.conn_info
        return text(client_address(connection.client_ip, partial(whole_header, request), trusted))

    listener = socket.create_server(("127.0.0.1", 0))
    server = await app.create_server(sock=listener, return_asyncio_server=True, access_log=False)
    assert server is not None
    await server.startup()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"

    async def ask(*headers: tuple[str, str], trusting: Sequence[str] = PROXIES, sent_from: str = "127.0.0.1") -> str:
        trusted[:] = [ip_network(network) for network in trusting]
        connector = aiohttp.TCPConnector(local_addr=(sent_from, 0))
        async with aiohttp.ClientSession(connector=connector) as client, client.get(url, headers=headers) as response:
            return await response.text()

    yield ask
    closed = server.close()
    assert closed is not None
    await closed
    Sanic.unregister_app(app)


def forwarded_for(value: str) -> tuple[str, str]:
    return ("X-Forwarded-For", value)


def forwarded(value: str) -> tuple[str, str]:
    return ("Forwarded", value)


async def test_without_proxies_the_sender_is_the_peer_whatever_it_claims(seen: Ask):
    claim = forwarded_for("192.0.2.1")
    assert await seen(claim, trusting=()) == "127.0.0.1"
    assert await seen(claim, trusting=("10.0.0.0/8",)) == "127.0.0.1"
    assert await seen(claim, sent_from="127.0.0.2") == "127.0.0.2"


async def test_a_trusted_proxy_tells_who_sent_the_request(seen: Ask):
    assert await seen(forwarded_for("192.0.2.1")) == "192.0.2.1"
    assert await seen(forwarded("for=192.0.2.1;proto=https;by=127.0.0.1")) == "192.0.2.1"


async def test_a_trusted_proxy_that_tells_nothing_is_the_sender(seen: Ask):
    assert await seen() == "127.0.0.1"
    assert await seen(forwarded("proto=https")) == "127.0.0.1"
    assert await seen(forwarded_for(" , ")) == "127.0.0.1"


async def test_the_nearest_address_that_is_no_trusted_proxy_is_the_sender(seen: Ask):
    assert await seen(forwarded_for("203.0.113.9, 192.0.2.1, 10.1.2.3, 10.4.5.6")) == "192.0.2.1"
    assert await seen(forwarded("for=203.0.113.9, for=192.0.2.1, for=10.1.2.3")) == "192.0.2.1"
    assert await seen(forwarded_for("10.1.2.3, 10.4.5.6")) == "10.1.2.3"


async def test_what_a_client_claims_before_a_trusted_proxy_added_to_it_is_not_believed(seen: Ask):
    assert await seen(forwarded_for("127.0.0.1, 10.9.9.9, 192.0.2.1")) == "192.0.2.1"
    assert await seen(forwarded_for("198.51.100.1"), forwarded_for("192.0.2.1")) == "192.0.2.1"
    assert await seen(forwarded("for=198.51.100.1"), forwarded("for=192.0.2.1")) == "192.0.2.1"


@pytest.mark.parametrize(
    ("headers", "address"),
    [
        ([forwarded_for("192.0.2.1:4711")], "192.0.2.1"),
        ([forwarded_for("2001:db8::1")], "2001:db8::1"),
        ([forwarded_for("[2001:db8::1]:4711")], "2001:db8::1"),
        ([forwarded('for="[2001:db8::1]:4711"')], "2001:db8::1"),
        ([forwarded('FOR="192.0.2.1:80"')], "192.0.2.1"),
        ([forwarded_for("192.0.2.1, fd00::5")], "192.0.2.1"),
        ([forwarded_for("192.0.2.1, ::ffff:10.0.0.7")], "192.0.2.1"),
    ],
)
async def test_ports_brackets_and_quotes_are_not_part_of_an_address(
    seen: Ask, headers: list[tuple[str, str]], address: str
):
    assert await seen(*headers) == address


@pytest.mark.parametrize(
    "hop", ["unknown", "_hidden", "nonsense", "999.1.1.1", "fe80::1%any text", "1.2.3", "192.0.2.1/24"]
)
async def test_a_hop_that_is_no_address_ends_what_is_believed(seen: Ask, hop: str):
    assert await seen(forwarded_for(f"192.0.2.1, {hop}")) == "127.0.0.1"
    assert await seen(forwarded(f"for=192.0.2.1, for={hop}")) == "127.0.0.1"
    assert await seen(forwarded_for(f"192.0.2.1, {hop}, 10.1.2.3")) == "10.1.2.3"
    assert await seen(forwarded_for(f"{hop}, 192.0.2.1, 10.1.2.3")) == "192.0.2.1"


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("", ""),
    ],
)
def test_a_peer_has_one_spelling(peer: str, address: str):
    for trusted in ((), [ip_network("10.0.0.0/8")]):
        assert client_address(peer, lambda _: None, trusted) == address


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("::1", "::/64"),
        ("", ""),
    ],
)
def test_a_caller_is_counted_by_its_address_or_its_64_of_ipv6(address: str, place: str):
    assert network_of(address) == place


def test_the_home_of_an_address_is_its_places_and_homes_spread_over_all_shards():
    assert home_of("2001:db8::1") == home_of("2001:db8::ffff:2") != home_of("2001:db8:0:1::1")
    assert home_of("192.0.2.7") == home_of("::ffff:192.0.2.7")
    shards = {shard_of(home_of(f"2001:db8:{place:x}::1")) for place in range(4_000)}
    assert len(shards) == SHARDS
    assert len({shard_of(home_of(f"10.0.{place // 250}.{place % 250}")) for place in range(4_000)}) == SHARDS
