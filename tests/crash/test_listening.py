"""The addresses of the gateway, and their report in its first lines."""

import re
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import GatewayProcess, running
from tests.support.wire import send_raw

NEEDS_IPV6 = pytest.mark.skipif(
    not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists() or not Path("/proc/net/if_inet6").read_text(),
    reason="this machine has no IPv6",
)
HEALTH = b"GET /api/health HTTP/1.1\r\nHost: parley\r\n\r\n"


def port_of(gateway: GatewayProcess) -> int:
    return int(gateway.base.rpartition(":")[2])


def named(gateway: GatewayProcess) -> list[str]:
    """Return every address in the banner."""
    banner = gateway.log.read_text().partition("Try first")[0]
    return re.findall(r"http://(?:\[[0-9a-f:]+\]|[\w.]+):\d+", banner)


async def answers(url: str) -> bool:
    return (await send_raw(url, HEALTH)).http == 200


@NEEDS_IPV6
async def test_the_address_for_all_of_ipv6_answers_on_both_families(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_HOST="::") as gateway:
        port = port_of(gateway)
        assert await answers(f"http://127.0.0.1:{port}")
        assert await answers(f"http://[::1]:{port}")
        assert named(gateway)[:2] == [f"http://127.0.0.1:{port}", f"http://[::1]:{port}"]
        assert "open to the network" in gateway.log.read_text()


@NEEDS_IPV6
async def test_who_comes_by_ipv4_to_a_socket_of_both_has_an_ipv4_address(tmp_path: Path):
    settings: dict[str, Any] = {
        "PARLEY_HOST": "::",
        "PARLEY_TRUSTED_PROXIES": "127.0.0.1",
        "PARLEY_REGISTRATIONS_PER_HOUR": "1",
    }
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as nobody:

        async def register(name: str, sender: str) -> int:
            vx = {"name": name, "secret": "correct horse battery"}
            answer = await nobody.command("US_Create", vx=vx, headers={"X-Forwarded-For": sender})
            return answer.code

        assert await register("first", "192.0.2.1") == 0  # the proxy is trusted, otherwise both would share its address
        assert await register("second", "192.0.2.2") == 0
        assert await register("third", "192.0.2.1") == 4001
    lines = [line for line in gateway.log.read_text().splitlines() if "US_Create" in line]
    assert ["192.0.2." in line and "::ffff" not in line for line in lines] == [True, True, True]


@pytest.mark.parametrize("host", ["0.0.0.0", pytest.param("::", marks=NEEDS_IPV6)])
async def test_every_address_that_the_first_lines_name_answers(tmp_path: Path, host: str):
    async with running(tmp_path / "data", PARLEY_HOST=host) as gateway:
        addresses = named(gateway)
        assert addresses
        for url in addresses:
            assert await answers(url), url
        assert "It is open to the network, without TLS: other machines can reach it. It also answers at" in (
            gateway.log.read_text()
        )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", pytest.param("::1", marks=NEEDS_IPV6)])
async def test_a_gateway_for_this_machine_alone_says_nothing_of_the_network(tmp_path: Path, host: str):
    async with running(tmp_path / "data", PARLEY_HOST=host) as gateway:
        assert await answers(gateway.base)
        assert "network" not in gateway.log.read_text()


async def test_one_address_of_the_network_is_told_as_open_to_it(tmp_path: Path):
    own = own_address()
    async with running(tmp_path / "data", PARLEY_HOST=own) as gateway:
        assert gateway.base == f"http://{own}:{port_of(gateway)}"
        assert await answers(gateway.base)
        assert "open to the network, without TLS: other machines can reach it" in gateway.log.read_text()


def own_address() -> str:
    """Return an address of this machine that others can reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no network")
        return probe.getsockname()[0]
