"""What a client is made with, and what its errors say."""

import asyncio
import pickle
import ssl
import traceback
from collections.abc import AsyncIterable, Callable
from typing import Any

import pytest

import parley_client
from config.version import VERSION
from parley_client import (
    AccessError,
    AsyncParley,
    EntityError,
    InvalidSetting,
    NoConnection,
    Parley,
    ParleyError,
    UnexpectedAnswer,
)
from parley_client._settings import tls
from parley_client.errors import refused
from tests.support.gateway import CHECKOUT, GatewayProcess
from tests.support.other_server import answer, answering, events, page, tps
from tests.support.receiver import raw_server

BROKEN = "whsec_\nbroken"
"""A header that can't be sent."""

STREAMS: list[Callable[[AsyncParley], AsyncIterable[object]]] = [
    lambda client: client.agents.stream_chat("Hello", agent="scout"),
    lambda client: client.zones.stream(domain="observatory"),
    lambda client: client.webhooks.stream(),
    lambda client: client.stream_figures(),
]


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://localhost",
        "http://",
        "/demo/v1",
        "http://localhost:99999",
        "http://[localhost",
        "http://local\nhost",
        "http://local..host",
    ],
)
def test_an_address_that_is_none_is_refused_at_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidSetting, match="the gateway's address must be like http"):
        Parley(url)
    monkeypatch.setenv("PARLEY_URL", url)
    with pytest.raises(ValueError, match="must be like"):
        AsyncParley()


@pytest.mark.parametrize("url", ["http://localhost:8000?brand=Svc", "https://localhost/parley#top"])
def test_an_address_with_a_query_or_a_fragment_is_refused(url: str) -> None:
    with pytest.raises(InvalidSetting, match="must have no query and no fragment"):
        Parley(url)


@pytest.mark.parametrize("url", ["http://user:hunter2@localhost:8000", "https://hunter2@localhost"])
def test_an_address_with_a_password_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(InvalidSetting, match="must not hold a user or password") as error:
        Parley(url)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("key", ["plk_secr\net", "plk_sécret", "plk_\x00secret"])
def test_a_key_that_no_header_takes_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(InvalidSetting) as error:
        Parley(key=key)
    assert "secr" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"timeout": -1}, "a number of seconds above 0, not -1"),
        ({"timeout": 0}, "a number of seconds above 0, not 0"),
        ({"timeout": float("nan")}, "a number of seconds above 0, not nan"),
        ({"tries": 0}, "the number of tries must be 1 or more, not 0"),
    ],
)
def test_limits_in_which_no_call_can_succeed_are_refused_at_once(options: dict[str, Any], note: str) -> None:
    with pytest.raises(InvalidSetting, match=note):
        AsyncParley(**options)
    with Parley() as client, pytest.raises(InvalidSetting, match=note):
        client.with_options(**options)


@pytest.mark.parametrize("secret", ["line\nbreak-of-a-secret", "sécret-of-a-gateway", "\x00secret-of-a-gateway"])
def test_an_internal_secret_that_no_header_takes_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(InvalidSetting, match="the gateway's INTERNAL_SECRET, whole and alone") as error:
        AsyncParley(internal_secret=secret)
    assert "of-a" not in str(error.value)


def test_the_line_break_after_a_key_from_a_file_does_no_harm(
    gateway: GatewayProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Parley(gateway.base) as visitor:
        key = visitor.keys.sandbox().key
    monkeypatch.setenv("PARLEY_API_KEY", f"{key}\n")
    with Parley(f" {gateway.base}/\n") as client:
        assert client.users.read().name.startswith("sandbox-")


async def test_an_empty_key_is_none_and_a_blank_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    async with answering(answer(200, {})) as other:
        for variable, key in (("plk_of_environment", ""), (" \n", None)):
            monkeypatch.setenv("PARLEY_API_KEY", variable)
            async with AsyncParley(other.url, key) as client:
                await client.request("GET", "/api/keys")
                await client.with_options(tries=1).request("GET", "/api/keys")
    assert other.sent("Authorization") == [None] * 4


async def test_a_raw_answer_shows_no_token_in_its_repr() -> None:
    async with answering(tps(content=({"token": "pls_secret"},))) as other, AsyncParley(other.url) as client:
        made = await client.send("US_LogOn", {"target": {"user": "lovelace"}})
    assert made.content[0]["token"] == "pls_secret"
    assert "pls_secret" not in repr(made)


def test_settings_of_some_calls_hold_for_them_alone_over_the_same_connections(
    gateway: GatewayProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PARLEY_API_KEY", raising=False)
    with Parley(gateway.base) as client:
        key = client.keys.sandbox().key
        monkeypatch.setenv("PARLEY_API_KEY", key)
        with client.with_options(tries=1) as nobody, pytest.raises(AccessError):
            nobody.users.read()  # the credential of the client, which has none
        assert client.gateway.health().status == "ok"  # its connections are open yet
    with Parley(gateway.base, key) as client:
        assert client.with_options(tries=1).users.read().name.startswith("sandbox-")


async def test_a_time_out_and_tries_of_some_calls_hold_in_a_chat_too() -> None:
    asked: list[asyncio.StreamWriter] = []

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.append(writer)
        await reader.read()

    async with raw_server(never) as port, AsyncParley(f"http://127.0.0.1:{port}", "plk_x") as client:
        hasty = client.with_options(timeout=2, tries=2)
        async with asyncio.timeout(30):
            with pytest.raises(NoConnection) as late:
                await hasty.agents.chat("Hello", agent="scout")
        assert (len(asked), late.value.may_be_done) == (2, True)
        with pytest.raises(NoConnection):
            await hasty.with_options(tries=1).agents.chat("Hello", agent="scout")
        assert len(asked) == 3


def test_a_request_that_can_t_be_sent_is_tried_once(gateway: GatewayProcess) -> None:
    with Parley(gateway.base, "plk_x", tries=1_000) as client, pytest.raises(NoConnection) as error:
        next(iter(client.zones.stream(domain="observatory", after=BROKEN)))
    assert not error.value.may_be_done
    assert "whsec" not in "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize("key", ["", " ", "whsec_\nbroken", "schlüssel", "k" * 256])
def test_an_idempotency_key_that_no_header_takes_is_refused_and_not_shown(key: str) -> None:
    with Parley(key="plk_x") as client:
        for act in (
            lambda: client.agents.create("courier", "Carries", idempotency_key=key),
            lambda: client.request("POST", "/api/keys", {"name": "of-a"}, idempotency_key=key),
        ):
            with pytest.raises(InvalidSetting, match="1 to 255 visible ASCII characters") as error:
                act()
            assert key.strip() == "" or key not in str(error.value)


@pytest.mark.parametrize("text", ["half of a pair: \ud83d", float("nan"), object()])
async def test_what_json_can_t_hold_is_refused_before_anything_is_sent(text: object) -> None:
    async with AsyncParley("http://127.0.0.1:1", "plk_x") as client:
        with pytest.raises(InvalidSetting, match="/demo/v1/Svc/tps: what is given can't be sent"):
            await client.send("AP_Chat", {"content": text})


@pytest.mark.parametrize("path", ["http://elsewhere.test/api/keys", "//elsewhere.test/api/keys", "api/keys", ""])
async def test_a_path_never_leads_to_another_host(path: str) -> None:
    async with AsyncParley("http://127.0.0.1:1", "plk_x") as client:
        with pytest.raises(InvalidSetting, match="a path begins with one /"):
            await client.request("GET", path)
        with pytest.raises(InvalidSetting, match="a path begins with one /"):
            client.stream_events(path)


@pytest.mark.parametrize("data", ["{broken", "[]", "{}", '"text"', "\udcff"])
async def test_a_stream_of_something_else_is_an_error_of_the_client(data: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for kind in ("delta", "message", "secret"):
            writer.write(f"event: {kind}\nid: 1\ndata: {data}\n\n".encode(errors="surrogateescape"))
        writer.close()

    async with raw_server(answer) as port, AsyncParley(f"http://127.0.0.1:{port}", "plk_x", tries=1) as client:
        for stream_of in STREAMS:
            with pytest.raises(UnexpectedAnswer):
                async for _ in stream_of(client):
                    pass


@pytest.mark.parametrize("begins", [False, True])
async def test_a_stream_of_no_events_is_an_error_at_once(begins: bool) -> None:
    head = (events("id: 1\n\n"),) if begins else ()
    for stream_of in STREAMS:
        async with answering(*head, page()) as other, AsyncParley(other.url, "plk_x") as client:
            with pytest.raises(UnexpectedAnswer, match="no stream of events: is this a gateway's address"):
                async for _ in stream_of(client):
                    pass
        assert len(other.heads) == 1 + begins


async def test_a_stream_that_is_cut_again_and_again_before_an_event_is_tried_less_and_less_often() -> None:
    class EnoughError(Exception):
        pass

    waits: list[float] = []

    def lost(_: ParleyError, wait: float) -> None:
        waits.append(wait)
        if len(waits) == 4:
            raise EnoughError

    for text in (": still here\n\n", 'event: secret\nid: 1\ndata: {"secret": "whsec_x"}\n\n'):
        waits.clear()
        async with answering(events(text)) as other, AsyncParley(other.url, "plk_x") as client:
            stream = client.webhooks.stream()
            stream.on_loss = lost
            with pytest.raises(EnoughError):
                async for _ in stream:
                    pass
        assert [wait >= 0.125 * 2**number for number, wait in enumerate(waits)] == [True] * 4


def test_an_id_is_one_segment_of_a_path_or_nothing_is_sent(gateway: GatewayProcess) -> None:
    with Parley(gateway.base) as client:
        key = client.keys.sandbox().key
    calls: list[Callable[[Parley, str], object]] = [
        lambda client, name: client.keys.revoke(name),
        lambda client, name: client.runs.read(name),
        lambda client, name: client.runs.cancel(name),
        lambda client, name: client.documents.read(name),
        lambda client, name: client.webhooks.delete(name),
        lambda client, name: client.webhooks.disable(name),
        lambda client, name: client.webhooks.retry(name),
    ]
    with Parley(gateway.base, key) as client:
        for call in calls:
            for name in ("../api-keys", "whe_1?hard=true", "whe_1#", "a/b", "ü"):
                with pytest.raises(EntityError) as unknown:
                    call(client, name)
                assert unknown.value.code == 3000, name
            for name in ("", ".", ".."):
                with pytest.raises(InvalidSetting, match="a name or an id is needed"):
                    call(client, name)


async def test_a_client_says_who_it_is() -> None:
    heads: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()

    async with raw_server(answer) as port, AsyncParley(f"http://127.0.0.1:{port}") as client:
        assert await client.request("GET", "/api/health") == {}
    assert f"user-agent: parley-client/{parley_client.__version__} python/3." in heads[0]


def test_clients_share_the_certificates_that_they_trust() -> None:
    trusting = tls("https://gateway.example")
    assert trusting is tls("https://another.example")
    assert (trusting.verify_mode, trusting.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert trusting.cert_store_stats()["x509_ca"] > 0


def test_without_tls_no_certificates_are_read_and_none_is_trusted() -> None:
    distrusting = tls("http://127.0.0.1:8000")
    assert distrusting.cert_store_stats()["x509_ca"] == 0
    assert (distrusting.verify_mode, distrusting.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_an_error_says_code_note_and_request(gateway: GatewayProcess) -> None:
    with Parley(gateway.base) as client, pytest.raises(AccessError) as error:
        client.users.read()
    assert error.value.request_id
    assert str(error.value) == f"2000: {error.value.note} (request {error.value.request_id})"
    status = {"internal_code": 3000, "http_code": 404, "note": "There is no such agent."}
    assert str(refused(status)) == "3000: There is no such agent."


@pytest.mark.parametrize(
    "error",
    [
        refused({"internal_code": 4000, "http_code": 429, "note": "Enough for today."}, "r-1", 7.0),
        NoConnection("POST http://127.0.0.1:9: refused", may_be_done=True),
        InvalidSetting("the key"),
    ],
)
def test_an_error_crosses_processes_whole(error: ParleyError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_the_package_has_the_version_and_the_licence_of_the_gateway() -> None:
    assert parley_client.__version__ == VERSION
    licences = [(folder / "LICENSE").read_bytes() for folder in (CHECKOUT, CHECKOUT / "clients" / "python")]
    assert licences[0] == licences[1]
