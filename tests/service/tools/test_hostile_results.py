"""Results of tool servers that would cost the gateway far more than their bytes (docs/mcp.md, "Limits")."""

from collections.abc import AsyncIterator
from itertools import count
from typing import Any, NamedTuple

import pytest

from tests.support.gateway import Client
from tests.support.longest_step import Stepped, stepped
from tests.tool_servers.catalog import install, invoke, unruly, words, write_catalog
from tests.tool_servers.over_http import Unruly, unruly_over_http


class Shape(NamedTuple):
    """A result with an item many times."""

    head: str
    item: str
    count: int
    tail: str = "]}"


CONTENT = '{"content":['
STRUCTURED = '{"content":[{"type":"text","text":"fine"}],"structuredContent":{"found":['
TEXT = '{"type":"text","text":"x"}'
TOO_MUCH = {
    "blocks of nothing": (Shape(CONTENT, "{}", 340_000), "more than 20,000 values"),
    "numbers": (Shape(CONTENT, "1", 500_000), "more than 20,000 values"),
    "small texts": (Shape(CONTENT, TEXT, 37_000), "more than 20,000 values"),
    "structured numbers": (Shape(STRUCTURED, "1", 500_000, "]}}"), "more than 20,000 values"),
    "nothing to count on": (
        Shape('{"content":[],"more":{"\\\\\\"":[', "[]", 330_000, "]}}"),
        "more than 20,000 values",
    ),
    "a few thousand blocks": (Shape(CONTENT, "{}", 9_000), "a result with more than 500 content blocks"),
}
WITHIN = {
    "a long table in one text": Shape('{"content":[{"type":"text","text":"', "1,{[", 200_000, '"}]}'),
    "escapes in one text": Shape('{"content":[{"type":"text","text":"', '\\\\\\",', 150_000, '"}]}'),
    "as many blocks as may be": Shape(CONTENT, TEXT, 500),
    "structured values": Shape(STRUCTURED, '{"a":1}', 9_000, "]}}"),
}


@pytest.fixture(scope="module")
async def loop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stepped]:
    folder = tmp_path_factory.mktemp("results")
    catalog = write_catalog(folder / "catalog.toml", {"unruly": unruly()}, processes_per_user=16)
    settings: Any = {"PARLEY_MCP_CATALOG": catalog, "PARLEY_WEBHOOKS_ALLOW_INSECURE": "true"}
    async with stepped(folder, **settings) as loop:
        yield loop


@pytest.fixture(scope="module")
async def servers() -> AsyncIterator[Unruly]:
    async with unruly_over_http() as servers:
        yield servers


class Calls:
    """Calls of tool servers, each of a new one, because one that failed is left alone for a while."""

    def __init__(self, user: Client, servers: Unruly) -> None:
        self.user = user
        self._servers = servers
        self._names = map("remote-{}".format, count())

    async def new(self, way: str) -> str:
        name = next(self._names)
        what = {"server": "unruly"} if way == "process" else {"url": f"http://127.0.0.1:{self._servers.port}/{way}"}
        await install(self.user, name, **what)
        return name

    async def call(self, way: str, shape: Shape | None = None) -> Any:
        name = await self.new(way)
        tool = "shaped" if way == "process" else "echo"
        try:
            return await invoke(self.user, f"{name}.{tool}", **(shape._asdict() if shape else {}))
        finally:
            await self.user.request("DELETE", f"/api/mcp/tools/{name}")


@pytest.fixture
async def calls(loop: Stepped, servers: Unruly, unique: str) -> AsyncIterator[Calls]:
    async with loop.gateway.client() as client:
        calls = Calls(await client.register(f"{unique}-user"), servers)
        await calls.call("shaped", WITHIN["as many blocks as may be"])  # imports the SDK
        yield calls


WAYS = pytest.mark.parametrize("way", ["process", "shaped", "shaped_stream"])


@WAYS
@pytest.mark.parametrize("kind", TOO_MUCH)
async def test_a_result_of_too_many_values_is_refused_and_holds_up_nobody(
    loop: Stepped, calls: Calls, way: str, kind: str
):
    shape, why = TOO_MUCH[kind]

    async def called() -> None:
        assert why in (await calls.call(way, shape)).refused(5001, 502).note

    await loop.is_never_held_up(called)


@WAYS
@pytest.mark.parametrize("kind", WITHIN)
async def test_a_result_within_the_bounds_is_answered_and_holds_up_nobody(
    loop: Stepped, calls: Calls, way: str, kind: str
):
    async def called() -> None:
        assert words(await calls.call(way, WITHIN[kind]))

    await loop.is_never_held_up(called)


@pytest.mark.parametrize(
    ("item", "number", "why"),
    [("{}", 340_000, "more than 20,000 values"), ("{}", 9_000, "a result with more than 256 tools")],
)
async def test_a_list_of_too_many_tools_is_refused_and_holds_up_nobody(
    loop: Stepped, calls: Calls, servers: Unruly, item: str, number: int, why: str
):
    servers.shape = Shape('{"tools":[', item, number)._asdict()

    async def called() -> None:
        name = await calls.new("shaped_list")
        assert why in (await invoke(calls.user, f"{name}.echo")).refused(5001, 502).note
        await calls.user.request("DELETE", f"/api/mcp/tools/{name}")

    await loop.is_never_held_up(called)


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("interim", "its answer does not begin"),
        ("endless_head", "head is too long"),
    ],
)
async def test_an_answer_that_does_not_end_holds_up_nobody(loop: Stepped, calls: Calls, way: str, why: str):
    async def called() -> None:
        assert why in (await calls.call(way)).refused(5001, 502).note

    await loop.is_never_held_up(called)


async def test_interim_answers_are_passed_over(calls: Calls):
    assert words(await calls.call("hints")) == "fine"
