"""What the client's connections belong to, and what the environment says about them."""

import asyncio
import multiprocessing
import sys

import httpx2
import pytest

from parley_client import AsyncParley, InvalidSetting, NoConnection, Parley
from tests.support.gateway import GatewayProcess
from tests.support.other_server import answer, answering
from tests.support.receiver import raw_server

NOWHERE = "http://127.0.0.1:1"
"""An address at which nobody listens."""


@pytest.fixture(autouse=True)
def _without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def _use_in_child(client: Parley) -> None:
    try:
        client.gateway.health()
    except RuntimeError as error:
        sys.exit(7 if "another process or event loop" in str(error) else 8)


@pytest.mark.parametrize("used", [True, False])
def test_a_forked_process_never_gets_the_answers_of_its_parent(gateway: GatewayProcess, used: bool) -> None:
    with Parley(gateway.base) as client:
        if used:
            client.gateway.health()
        child = multiprocessing.get_context("fork").Process(target=_use_in_child, args=(client,))
        child.start()
        child.join(60)
        assert child.exitcode == (7 if used else 0)
        assert client.gateway.health().status == "ok"


def test_a_forked_process_is_told_of_by_clients_that_were_made_before_the_first_call(gateway: GatewayProcess) -> None:
    http = httpx2.Client()
    with Parley(gateway.base, http=http) as client:
        derived, sharing = client.with_options(timeout=5), Parley(gateway.base, http=http)
        client.gateway.health()
        for other in (derived, sharing):
            child = multiprocessing.get_context("fork").Process(target=_use_in_child, args=(other,))
            child.start()
            child.join(60)
            assert child.exitcode == 7


def test_a_second_event_loop_is_told_of() -> None:
    client = AsyncParley(NOWHERE, tries=1)
    with pytest.raises(NoConnection):
        asyncio.run(client.gateway.health())
    for other in (client, client.with_options(timeout=5)):
        with pytest.raises(RuntimeError, match="another process or event loop"):
            asyncio.run(other.gateway.health())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTPS_PROXY", "ftp://user:hunter2@127.0.0.1:9"),
        ("ALL_PROXY", "http://user:hunter2@proxy:port"),
        ("SSL_CERT_FILE", "/nowhere/hunter2.pem"),
        ("SSL_CERT_FILE", __file__),
    ],
)
def test_a_proxy_or_certificates_that_can_t_be_used_are_refused_by_name(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley_client._settings._trusting", httpx2.create_ssl_context)  # not one that was kept
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidSetting, match=f"the environment's .*{name}.* can't be used") as error:
        AsyncParley("https://gateway.test")
    assert "hunter2" not in str(error.value)


def test_a_socks_proxy_that_needs_more_is_told_of_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(InvalidSetting, match=r"pip install httpx2\[socks\]"):
        Parley("http://gateway.test")


async def test_an_error_on_the_way_names_the_whole_address_and_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncParley(f"{NOWHERE}/under/a/prefix", tries=1) as client:
        with pytest.raises(NoConnection, match=f"GET {NOWHERE}/under/a/prefix/api/health: "):
            await client.gateway.health()
    monkeypatch.setenv("HTTP_PROXY", NOWHERE)
    async with AsyncParley("http://gateway.test", tries=1) as client:
        with pytest.raises(
            NoConnection, match=r"GET http://gateway\.test/api/health through the proxy of HTTP_PROXY: "
        ):
            await client.gateway.health()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with AsyncParley(NOWHERE, tries=1) as client:
        with pytest.raises(NoConnection, match=f"GET {NOWHERE}/api/health: "):
            await client.gateway.health()


async def test_a_client_whose_connections_are_all_in_use_says_so() -> None:
    async def never(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    http = httpx2.AsyncClient(limits=httpx2.Limits(max_connections=1))
    async with raw_server(never) as port, AsyncParley(f"http://127.0.0.1:{port}", tries=1, http=http) as client:
        waiting = asyncio.create_task(client.gateway.health())
        await asyncio.sleep(0.1)
        with pytest.raises(NoConnection, match="all connections of the client are in use") as error:
            await client.with_options(timeout=0.1).gateway.health()
        assert not error.value.may_be_done
        waiting.cancel()


async def test_clients_that_share_their_connections_keep_address_and_credential_apart() -> None:
    async with (
        answering(answer(200, {})) as one,
        answering(answer(200, {})) as two,
        httpx2.AsyncClient(base_url="http://elsewhere.test/prefix") as http,
    ):
        first = AsyncParley(one.url, "plk_ONE", http=http)
        second = AsyncParley(f"{two.url}/prefix", "plk_TWO", http=http)
        for client in (first, second, first.with_options(tries=1)):
            await client.request("GET", "/api/health")
    assert (one.sent("Authorization"), two.sent("Authorization")) == (["Bearer plk_ONE"] * 2, ["Bearer plk_TWO"])
    assert two.heads[0].startswith("GET /prefix/api/health HTTP/1.1\r\n")
    assert (first.url, second.url) == (one.url, f"{two.url}/prefix")
