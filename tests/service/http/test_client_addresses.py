"""The client's address behind trusted proxies, seen through one registration per address."""

import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import PASSWORD, Client, running
from tests.support.haproxy import in_front_of

_numbers = itertools.count(1)


TRUSTED = "127.0.0.1,10.0.0.0/8,fd00::/8"
OWN_ADDRESS = {"X-Forwarded-For": "198.51.100.77"}


async def registers(client: Client, **headers: str) -> bool:
    """Return whether these headers make an address without a registration so far."""
    vx = {"name": f"user-{next(_numbers)}", "secret": PASSWORD}
    answer = await client.command(
        "US_Create", vx=vx, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )
    assert answer.code in (0, 4001), answer.body
    return answer.code == 0


@pytest.fixture(scope="module")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """A gateway behind trusted proxies with one registration per address."""
    settings: dict[str, Any] = {"PARLEY_REGISTRATIONS_PER_HOUR": "1", "PARLEY_TRUSTED_PROXIES": TRUSTED}
    data = tmp_path_factory.mktemp("guarded") / "data"
    async with running(data, **settings) as gateway, gateway.client() as client:
        yield client


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("198.51.100.1", {"X_Forwarded_For": "203.0.113.9, 198.51.100.1"}),
        ("198.51.100.2", {"X_Forwarded_For": "198.51.100.2, 10.1.2.3"}),
        ("198.51.100.3", {"X_Forwarded_For": "203.0.113.9,198.51.100.3,10.1.2.3,fd00::7"}),
        ("198.51.100.4", {"X_Forwarded_For": "198.51.100.4:51234"}),
        ("198.51.100.5", {"Forwarded": "for=198.51.100.5"}),
        ("198.51.100.6", {"Forwarded": 'For="198.51.100.6:4711";proto=https;by=10.0.0.1'}),
        ("198.51.100.7", {"Forwarded": "for=203.0.113.9, for=198.51.100.7, for=10.0.0.2"}),
        ("198.51.100.8", {"Forwarded": "for=198.51.100.8", "X_Forwarded_For": "203.0.113.9"}),
        ("2001:db8:1::1", {"Forwarded": 'for="[2001:db8:1::1]:4711"'}),
        ("2001:db8:2::2", {"X_Forwarded_For": "[2001:db8:2::2]"}),
        ("2001:db8:3::3", {"X_Forwarded_For": "2001:DB8:3:0::3"}),
        ("2001:db8:4::1", {"X_Forwarded_For": "2001:db8:4:0:ffff::1"}),
        ("10.9.8.7", {"X_Forwarded_For": "198.51.100.99, unknown, 10.9.8.7"}),
        ("198.51.100.9", {"X_Forwarded_For": "::ffff:198.51.100.9"}),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value.values()),
)
async def test_headers_of_trusted_proxies_name_the_caller(guarded: Client, address: str, headers: dict[str, str]):
    assert await registers(guarded, X_Forwarded_For=address)
    assert not await registers(guarded, **headers)


async def test_what_stands_left_of_the_first_untrusted_address_is_not_believed(guarded: Client):
    assert await registers(guarded, X_Forwarded_For="198.51.100.30")
    assert await registers(guarded, X_Forwarded_For="2001:db8:5:1::1")
    assert await registers(guarded, X_Forwarded_For="2001:db8:5:2::1")
    for spoofed in ("203.0.113.50", "10.0.0.1", "127.0.0.1", "unknown", "'; --"):
        assert not await registers(guarded, X_Forwarded_For=f"{spoofed}, 198.51.100.30")
    assert await registers(guarded, X_Forwarded_For="203.0.113.50")


async def test_the_deployed_proxy_passes_on_no_clients_word_on_where_it_is_asked(guarded: Client):
    user, spoofed = "named-by-nobody", "evil.example"
    assert (await guarded.command("US_Create", vx={"name": user, "secret": PASSWORD}, headers=OWN_ADDRESS)).code == 0
    await (await guarded.log_on(user)).agent("carded", access="public")
    with in_front_of({"node": guarded.base}) as proxy:
        for headers in (
            {"X-Forwarded-Host": spoofed, "X-Forwarded-Proto": "https"},
            {"Forwarded": f"host={spoofed};proto=https"},
        ):
            path = "/a2a/carded/.well-known/agent-card.json"  # caches share it
            card = await Client(guarded.http, proxy.base).request("GET", path, headers=headers)
            assert card.http == 200
            assert card.body["supportedInterfaces"][0]["url"] == f"{proxy.base}/a2a/carded"


async def test_without_trusted_proxies_the_headers_mean_nothing(tmp_path: Path):
    settings: dict[str, Any] = {"PARLEY_REGISTRATIONS_PER_HOUR": "1"}
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:
        assert await registers(client, X_Forwarded_For="198.51.100.1")
        assert not await registers(client, X_Forwarded_For="198.51.100.2")
        assert not await registers(client, Forwarded="for=198.51.100.3")
        assert not await registers(client)
