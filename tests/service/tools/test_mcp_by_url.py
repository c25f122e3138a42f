"""Tool servers with a URL (MCP, streamable HTTP), on real sockets and through the egress policy (docs/mcp.md)."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.support.gateway import Client, GatewayProcess, running
from tests.support.operator import live_actor
from tests.tool_servers.catalog import SDK_CODES, install, invoke, listed, server_of, words, write_catalog
from tests.tool_servers.over_http import Unruly, sdk_server, serving, unruly_over_http


@pytest.fixture(scope="session")
async def insecure_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway that allows `http` and this machine's addresses, with short time-outs."""
    folder = tmp_path_factory.mktemp("insecure")
    catalog = write_catalog(folder / "catalog.toml", {}, connect_timeout_s=6, call_timeout_s=4)
    settings: Any = {"PARLEY_MCP_CATALOG": catalog, "PARLEY_WEBHOOKS_ALLOW_INSECURE": "true"}
    async with running(folder / "data", **settings) as gateway:
        yield gateway


@pytest.fixture
async def insecure_user(insecure_server: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    async with insecure_server.client() as client:
        yield await client.register(f"{unique}-user")


@pytest.fixture
async def unruly() -> AsyncIterator[Unruly]:
    async with unruly_over_http() as server:
        yield server


@pytest.mark.parametrize("json_response", [True, False])
@pytest.mark.parametrize("stateless", [True, False])
async def test_a_server_of_the_sdk_s_is_installed_by_url_and_invoked(
    insecure_user: Client, *, json_response: bool, stateless: bool
):
    app = sdk_server().streamable_http_app(json_response=json_response, stateless_http=stateless)
    async with serving(app) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        installed = await install(insecure_user, "remote", url=url, headers={"X-Team": "observatory"})
        assert (installed.body["url"], installed.body["server"]) == (url, None)
        tools = {tool["name"]: tool["description"] for tool in (await listed(insecure_user))["tools"]}
        assert tools == {"remote.echo": "Repeat a text.", "remote.header": "Return the value of a request header."}
        assert words(await invoke(insecure_user, "remote.echo", text="hello")) == "hello"
        assert words(await invoke(insecure_user, "remote.header", name="x-team")) == "observatory"
        assert words(await invoke(insecure_user, "remote.header", name="user-agent")) == "Parley"
        answers = await asyncio.gather(*(invoke(insecure_user, "remote.echo", text=str(n)) for n in range(10)))
        assert [words(answer) for answer in answers] == [str(n) for n in range(10)]
        assert (await insecure_user.request("DELETE", "/api/mcp/tools/remote")).http == 204


async def test_a_server_that_comes_back_is_found_again(insecure_user: Client):
    app = sdk_server().streamable_http_app(stateless_http=False)
    async with serving(app) as port:
        await install(insecure_user, "remote", url=f"http://127.0.0.1:{port}/mcp")
        assert words(await invoke(insecure_user, "remote.echo", text="one")) == "one"
    answer = (await invoke(insecure_user, "remote.echo", text="two")).refused(5001, 502)
    assert "remote failed" in answer.note
    assert (await server_of(insecure_user, "remote"))["state"] == "failed"


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("hang", ""),
        ("closes", "can't be reached"),
        ("redirect", "Redirect"),
        ("unauthorized", "HTTP 401"),
        ("html", "content type"),
    ],
)
async def test_a_url_that_can_t_be_connected_is_listed_as_failed_with_the_reason(
    insecure_user: Client, unruly: Unruly, way: str, why: str
):
    await install(insecure_user, "remote", url=f"http://127.0.0.1:{unruly.port}/{way}")
    seen = await listed(insecure_user)
    assert seen["tools"] == []
    (failed,) = seen["servers"]
    assert failed["state"] == "failed"
    assert why in failed["error"]


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("packed", "compresses"),
        ("no_json", "not JSON"),
        ("large", "too much"),
        ("hang_in_call", "did not answer within 4 s"),
        ("flood", ""),
        ("endless_line", ""),
        ("stops_in_stream", "it did not answer: SSE stream ended"),
        ("server_error", "HTTP 500"),
    ],
)
async def test_a_server_that_misbehaves_in_a_call_is_a_clear_error(
    insecure_user: Client, unruly: Unruly, way: str, why: str
):
    await install(insecure_user, "remote", url=f"http://127.0.0.1:{unruly.port}/{way}")
    await install(insecure_user, "calm", url=f"http://127.0.0.1:{unruly.port}/fine")
    call = asyncio.create_task(invoke(insecure_user, "remote.echo"))
    assert words(await invoke(insecure_user, "calm.echo")) == "fine"
    answer = (await call).refused(5001, 502)
    assert why in answer.note
    assert words(await invoke(insecure_user, "calm.echo")) == "fine"


async def test_an_error_that_a_server_answers_fails_its_call_alone_whatever_its_code(tmp_path: Path, unruly: Unruly):
    catalog = write_catalog(tmp_path / "catalog.toml", {}, call_timeout_s=60)
    settings: Any = {"PARLEY_MCP_CATALOG": catalog, "PARLEY_WEBHOOKS_ALLOW_INSECURE": "1"}
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        await install(user, "remote", url=f"http://127.0.0.1:{unruly.port}/refuse")
        waiting = asyncio.create_task(invoke(user, "remote.echo", wait=True))
        while "tools/call" not in unruly.methods:
            await asyncio.sleep(0.01)
        for code in SDK_CODES:
            error = {"code": code, "message": "Upstream said no"}
            answer = await invoke(user, "remote.echo", status=200, error=error)
            assert answer.refused(5001, 502).note == "The tool server remote failed: it answered: Upstream said no."
        unruly.released.set()
        assert words(await waiting) == "fine"
    assert unruly.methods.count("initialize") == 1


@pytest.mark.parametrize(
    ("status", "code", "times"),
    [(404, -32600, 2), (404, -32001, 2), (404, -32601, 1), (400, -32000, 2), (400, -32600, 1), (500, -32000, 1)],
)
async def test_a_server_that_no_longer_knows_the_session_is_connected_anew_by_the_next_call(
    insecure_user: Client, unruly: Unruly, status: int, code: int, times: int
):
    await install(insecure_user, "remote", url=f"http://127.0.0.1:{unruly.port}/refuse")
    error = {"code": code, "message": "Session not found"}
    answer = (await invoke(insecure_user, "remote.echo", status=status, error=error)).refused(5001, 502)
    assert f"it answered: Session not found (HTTP {status})" in answer.note
    assert words(await invoke(insecure_user, "remote.echo")) == "fine"
    assert unruly.methods.count("initialize") == times


SECRET = "sk-this-is-a-secret-of-the-tests"
HEADERS = {"Authorization": f"Bearer {SECRET}", "X-Team": "a"}


@pytest.mark.parametrize("code", [-32602, -32603])
async def test_an_error_that_repeats_the_headers_shows_none_of_their_values(
    insecure_user: Client, unruly: Unruly, code: int
):
    await install(insecure_user, "remote", url=f"http://127.0.0.1:{unruly.port}/tells", headers=HEADERS)
    answer = await invoke(insecure_user, "remote.echo", code=code)
    assert "uthorization: [masked]" in str(answer.body)
    assert SECRET not in str(answer.body)


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("tells_at_once", "What is [masked]?"),
        ("tells_in_redirect", "[masked]"),
        ("tells_in_head", "[masked]"),
    ],
)
async def test_the_reason_of_a_failed_connection_shows_no_values_of_headers(
    insecure_user: Client, unruly: Unruly, way: str, why: str
):
    url = f"http://127.0.0.1:{unruly.port}/{way}"
    key = (await install(insecure_user, "remote", url=url, headers=HEADERS)).body["id"]
    seen = await listed(insecure_user)
    assert why in seen["servers"][0]["error"]
    debugged = (await live_actor(insecure_user, "mcp", key)).body
    assert debugged["state"]["state"] == "failed"
    assert "masked" not in str(debugged)
    assert SECRET not in f"{seen} {debugged}"


@pytest.mark.parametrize(("said", "is_error"), [("true", True), ("false", False), ('"false"', False), ("null", False)])
async def test_only_true_says_that_a_tool_failed(insecure_user: Client, unruly: Unruly, said: str, *, is_error: bool):
    await install(insecure_user, "remote", url=f"http://127.0.0.1:{unruly.port}/shaped")
    result = {"head": '{"content":[{"type":"text","text":"fine"}],"isError":', "item": said, "count": 1, "tail": "}"}
    answer = await invoke(insecure_user, "remote.echo", **result)
    assert (answer.body["is_error"], words(answer)) == (is_error, "fine")


LARGE = "9" * 40
"""An integer of more than 64 bits, which the gateway can't write."""


async def test_a_result_that_can_t_be_passed_on_fails_its_call_alone(insecure_user: Client, unruly: Unruly):
    await install(insecure_user, "remote", url=f"http://127.0.0.1:{unruly.port}/shaped")
    large = {"head": '{"content":[{"type":"text","text":"x","_meta":{"a":', "item": LARGE, "count": 1, "tail": "}}]}"}
    answer = (await invoke(insecure_user, "remote.echo", **large)).refused(5001, 502)
    assert "an integer of more than 64 bits" in answer.note
    fine = {"head": '{"content":[{"type":"text","text":"', "item": "fine", "count": 1, "tail": '"}]}'}
    assert words(await invoke(insecure_user, "remote.echo", **fine)) == "fine"
    assert unruly.methods.count("initialize") == 1


async def test_a_tool_whose_schema_can_t_be_passed_on_is_left_out(insecure_user: Client, unruly: Unruly):
    schema = '{"tools":[{"name":"large","inputSchema":{"type":"object","maximum":'
    echo = '}},{"name":"echo","inputSchema":{"type":"object"}}]}'
    unruly.shape = {"head": schema, "item": LARGE, "count": 1, "tail": echo}
    await install(insecure_user, "remote", url=f"http://127.0.0.1:{unruly.port}/shaped_list")
    assert [tool["name"] for tool in (await listed(insecure_user))["tools"]] == ["remote.echo"]
    assert words(await invoke(insecure_user, "remote.echo")) == "fine"


async def test_nothing_is_asked_for_but_what_a_user_asked_for(insecure_user: Client, unruly: Unruly):
    await install(insecure_user, "remote", url=f"http://127.0.0.1:{unruly.port}/fine")
    assert words(await invoke(insecure_user, "remote.echo")) == "fine"
    assert {head.split(" ")[0] for head in unruly.heads} == {"POST"}


async def test_certificates_are_checked_and_the_operator_s_authorities_trusted(tmp_path: Path):
    authority, stranger = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    settings: Any = {"PARLEY_WEBHOOKS_ALLOW_INSECURE": "1", "PARLEY_WEBHOOKS_CA_FILE": str(tmp_path / "ca.pem")}
    app = sdk_server().streamable_http_app()
    other = sdk_server().streamable_http_app()
    async with (
        serving(app, tls_of(authority, "127.0.0.1")) as trusted,
        serving(other, tls_of(stranger, "127.0.0.1")) as untrusted,
        running(tmp_path / "data", **settings) as gateway,
        gateway.client() as client,
    ):
        user = await client.register("lovelace")
        await install(user, "trusted", url=f"https://127.0.0.1:{trusted}/mcp")
        await install(user, "untrusted", url=f"https://127.0.0.1:{untrusted}/mcp")
        assert words(await invoke(user, "trusted.echo", text="hello")) == "hello"
        answer = (await invoke(user, "untrusted.echo", text="hello")).refused(5001, 502)
        assert "CERTIFICATE_VERIFY_FAILED" in answer.note


async def test_proxies_of_the_environment_are_not_used(tmp_path: Path, unruly: Unruly):
    proxy = "http://127.0.0.1:9"
    settings: Any = {
        "PARLEY_WEBHOOKS_ALLOW_INSECURE": "1",
        "HTTP_PROXY": proxy,
        "ALL_PROXY": proxy,
        "http_proxy": proxy,
    }
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        await install(user, "remote", url=f"http://127.0.0.1:{unruly.port}/fine")
        assert words(await invoke(user, "remote.echo")) == "fine"


def tls_of(authority: trustme.CA, host: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    return context
