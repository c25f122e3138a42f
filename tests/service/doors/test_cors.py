"""Pages of other origins, and the gateway's own URL (docs/contract.md, "Pages of other origins")."""

from collections.abc import AsyncIterator

import pytest

from tests.gateways.gate import ENGINES
from tests.support.gateway import BUS, Client, GatewayProcess, running

PAGE = "https://app.example.org"
ALLOWED = "Access-Control-Allow-Origin"


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    data = tmp_path_factory.mktemp("pages") / "data"
    settings = {
        "PARLEY_CORS_ORIGINS": f"{PAGE}, http://localhost:5173",
        "PARLEY_PUBLIC_URL": "https://parley.example.org/gateway/",
    }
    async with running(data, script=ENGINES / "doors.py", **settings) as gateway:
        yield gateway


@pytest.fixture
async def client(server: GatewayProcess) -> AsyncIterator[Client]:
    async with server.client() as client:
        yield client


def preflight(origin: str, headers: str = "authorization, content-type, x-stainless-lang") -> dict[str, str]:
    return {"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": headers}


@pytest.mark.parametrize("path", [BUS, f"{BUS}/agent/chat", "/v1/chat/completions", "/a2a/scout", "/ag-ui/scout"])
async def test_a_preflight_of_a_named_origin_is_allowed(client: Client, path: str):
    answer = await client.request("OPTIONS", path, headers=preflight(PAGE))
    assert answer.http == 204
    assert answer.headers[ALLOWED] == PAGE
    assert answer.headers["Access-Control-Allow-Headers"] == "authorization, content-type, x-stainless-lang"
    assert {"GET", "POST", "DELETE"} <= set(answer.headers["Access-Control-Allow-Methods"].split(", "))
    assert answer.headers["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in answer.headers


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        (BUS, "https://other.example.org"),
        (BUS, "https://app.example.org.evil.example"),
        (BUS, "null"),
        ("/api/keys", PAGE),
        ("/mcp", PAGE),
        (f"{BUS}x", PAGE),
        ("/v10/models", PAGE),
    ],
)
async def test_other_origins_and_other_paths_are_told_nothing(client: Client, path: str, origin: str):
    for method, headers in (("OPTIONS", preflight(origin)), ("POST", {"Origin": origin})):
        answer = await client.request(method, path, headers=headers)
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    assert (await client.request("OPTIONS", path, headers=preflight(origin))).http in (404, 405)


async def test_answers_to_requests_without_an_origin_vary_by_it_too(client: Client, unique: str):
    user = await client.register(f"{unique}-user")
    await user.agent(f"{unique}-agent")
    said = {"model": f"{unique}-agent", "messages": [{"role": "user", "content": "say:Hi"}]}
    for answer in (
        (await user.command("US_Read")).ok(),
        (await user.as_user().command("US_Read")).refused(2000, 401),
        await user.request("POST", "/v1/chat/completions", json=said),
        await user.request("GET", "/v1/models"),
    ):
        assert answer.headers["Vary"] == "Origin"
        assert ALLOWED not in answer.headers
    assert "Vary" not in (await user.request("GET", "/api/keys")).headers


async def test_answers_of_the_bus_may_be_read_by_a_named_page(client: Client, unique: str):
    user = await client.register(f"{unique}-user")
    await user.agent(f"{unique}-agent")
    origin = {"Origin": PAGE}
    chat = (await user.command("AP_Chat", content="say:Hi", headers=origin)).ok()
    streamed = await user.command("AP_Chat", content="say:Hi", headers=origin | {"Accept": "text/event-stream"})
    refused = (await user.as_user().command("US_Read", headers=origin)).refused(2000, 401)
    unknown = await user.request("GET", f"{BUS}/nothing/there", headers=origin)
    assert unknown.http == 404
    for answer in (chat, streamed, refused, unknown):
        assert answer.headers[ALLOWED] == PAGE
        assert answer.headers["Vary"] == "Origin"
        assert {"X-Run-Id", "Retry-After", "RateLimit", "RateLimit-Policy", "X-Request-Id"} <= set(
            answer.headers["Access-Control-Expose-Headers"].split(", ")
        )
    assert "event: response" in streamed.body
    plain = (await user.command("AP_Chat", content="say:Hi")).ok()
    assert ALLOWED not in plain.headers


async def test_an_options_request_that_is_no_preflight_is_refused_as_before(client: Client):
    answer = await client.request("OPTIONS", BUS, headers={"Origin": PAGE})
    answer.refused(1006, 405)
    assert answer.headers[ALLOWED] == PAGE


async def test_headers_asked_for_that_are_no_names_are_not_repeated(client: Client):
    answer = await client.request("OPTIONS", BUS, headers=preflight(PAGE, "x y; z"))
    assert answer.http == 204
    assert "Access-Control-Allow-Headers" not in answer.headers


async def test_a_page_at_the_set_url_is_the_gateway_s_own_for_mcp(client: Client):
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    for origin, status in (("https://parley.example.org", 200), ("http://parley.example.org", 403), (PAGE, 403)):
        answer = await client.request("POST", "/mcp", json=ping, headers=accept | {"Origin": origin})
        assert answer.http == status, answer.body


async def test_the_set_url_is_the_gateway_s_whatever_the_request_says(client: Client):
    sent = {"Host": "elsewhere.example", "X-Forwarded-Host": "evil.example"}
    answer = await client.request("GET", "/echo/x/look", headers=sent)
    assert answer.body["base_url"] == "https://parley.example.org/gateway"
