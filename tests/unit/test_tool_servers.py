"""Parts of tool servers: limits, the egress policy for httpx2, and the engines' view of tools."""

import asyncio
import re
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path

import httpcore2
import httpx2
import pytest

from actors.commands.tools import UserToolbox
from actors.core import Core, CoreOptions
from actors.egress.flow import EVENT_END, LINE_END, Flooded, TokenBucket, ValueCount
from actors.egress.httpx_transport import GuardedBackend, GuardedTransport
from actors.egress.outbound import Outbound
from actors.engines.recall import RecallEngine
from actors.errors import NotFound, Overloaded, StateConflict
from actors.sealing import Sealer
from actors.tools.catalog import ToolOptions
from actors.tools.http import HttpTransport, stream_pace
from actors.tools.limits import MAX_VALUES, ProcessSlots, ToolLimits
from actors.tools.messages import InstallToolServer, InvokeTool, ReadToolServer
from actors.tools.stdio import StdioServer
from actors.tools.tool import ToolResult
from persistence import users
from persistence.sqlite.store import SqliteStore
from persistence.store import Unit
from persistence.tool_servers import ToolServerRow
from persistence.users import UserRow
from tests.support.gateway import CHECKOUT
from tests.support.receiver import Authority, raw_server
from tests.tool_servers.catalog import unruly


class Holder:
    def __init__(self, idle_since: float | None) -> None:
        self.idle_since = idle_since
        self.ended = False

    def give_way(self, why: str | None = None) -> None:
        self.ended = True


def test_the_one_that_idles_longest_gives_way_and_of_the_same_user_where_that_is_the_bound():
    slots = ProcessSlots(ToolLimits(processes=3, processes_per_user=2))
    first, second, other = Holder(5.0), Holder(3.0), Holder(1.0)
    for holder, user in ((first, "a"), (second, "a"), (other, "b")):
        slots.make_room(user)
        slots.hold(holder, user)
    slots.make_room("a")
    assert (first.ended, second.ended, other.ended) == (False, True, False)
    slots.hold(Holder(None), "a")
    slots.make_room("c")
    assert other.ended


def test_none_that_is_at_work_gives_way():
    slots = ProcessSlots(ToolLimits(processes=2, processes_per_user=1))
    slots.hold(Holder(None), "a")
    with pytest.raises(StateConflict):
        slots.make_room("a")
    slots.hold(Holder(None), "b")
    with pytest.raises(Overloaded):
        slots.make_room("c")


def test_a_flow_waits_beyond_its_burst_and_ends_beyond_its_most():
    flow = TokenBucket(rate=10, burst=20, most=100)
    assert flow.took(20, now=1.0) == 0
    assert flow.took(10, now=1.0) == 1.0
    assert flow.took(10, now=2.0) == 1.0
    assert flow.took(1, now=60.0) == 0
    flow.restart()
    with pytest.raises(Flooded):
        flow.took(101, now=60.0)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize(
    ("message", "values"),
    [(rb'{"a\\":[1,2,{"b":"{[,\""}]}', 5), (rb'["",[[]],"\\\\",["]', 7), ('{"a":"€,{"}'.encode(), 1), (rb'["\"', 1)],
)
def test_values_are_counted_outside_strings_however_the_message_is_cut(message: bytes, values: int, size: int):
    count = ValueCount(MAX_VALUES, EVENT_END)
    assert sum(count.took(message[at : at + size]) for at in range(0, len(message), size)) == values


@pytest.mark.parametrize("size", [1, 3, 1_000_000])
@pytest.mark.parametrize(
    ("end", "between"), [(LINE_END, b"\n"), (EVENT_END, b"\n\n"), (EVENT_END, b"\r\r"), (EVENT_END, b"\r\n\r\n")]
)
def test_each_message_has_a_count_of_its_own(end: re.Pattern[bytes], between: bytes, size: int):
    many = b"[" + b"1," * (MAX_VALUES - 1) + b"1]"
    for texts, fits in ((b': "' + between + many + between + many, True), (many + b",", False)):
        count = ValueCount(MAX_VALUES, end)
        with nullcontext() if fits else pytest.raises(Flooded):
            for at in range(0, len(texts), size):
                count.took(texts[at : at + size])


# the egress policy


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """A port of this machine with a listener."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_name_that_leads_to_a_private_address_is_not_connected_to(port: int, host: str):
    with pytest.raises(httpcore2.ConnectError, match=r"no address that may be called"):
        await GuardedBackend(Outbound(), "usr_1").connect_tcp(host, port, timeout=5)


async def test_where_insecure_ones_are_allowed_it_is(port: int):
    stream = await GuardedBackend(Outbound(allow_insecure=True), "usr_1").connect_tcp("localhost", port, timeout=5)
    assert stream.get_extra_info("server_addr")[1] == port
    await stream.aclose()


async def test_a_name_that_does_not_resolve_is_refused():
    with pytest.raises(httpcore2.ConnectError, match="no address that may be called"):
        await GuardedBackend(Outbound(allow_insecure=True), "usr_1").connect_tcp("no-such-name.invalid", 443, timeout=5)


async def test_a_refused_connection_is_told_without_the_address():
    backend = GuardedBackend(Outbound(allow_insecure=True), "usr_1")
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    gone = server.sockets[0].getsockname()[1]
    server.close()
    with pytest.raises(httpcore2.ConnectError, match=r"^localhost: Connection refused$"):
        await backend.connect_tcp("localhost", gone, timeout=5)


@pytest.mark.parametrize(
    "url", ["http://example.com/", "https://[::1]/", "https://10.0.0.1/", "https://a:b@example.com/"]
)
async def test_a_url_that_is_refused_is_not_called(url: str):
    transport = GuardedTransport(
        ssl.create_default_context(), Outbound(), "usr_1", lambda _: None, lambda _, __: lambda _: 0.0
    )
    async with httpx2.AsyncClient(transport=transport) as client:
        with pytest.raises(httpx2.ConnectError, match="refused"):
            await client.get(url)


@pytest.mark.parametrize("media_type", ["application/json", "text/event-stream"])
def test_an_answer_in_crumbs_is_read_slowly(media_type: str):
    transport = HttpTransport("", {}, ToolLimits(), stream_pace(), None, Outbound(), "usr_1")
    pace = transport._pacer(200, httpx2.Headers({"content-type": media_type}))
    assert [pace(b"x") for _ in range(50)] == [0.0] * 50
    assert sum(pace(b"x") for _ in range(50_000)) > 1_000


@pytest.mark.parametrize("media_type", ["text/event-stream", "Text/Event-Stream; charset=utf-16"])
def test_event_streams_are_known_and_read_as_utf_8_whatever_the_header_adds(media_type: str):
    transport = HttpTransport("", {}, ToolLimits(), stream_pace(), None, Outbound(), "usr_1")
    headers = httpx2.Headers({"content-type": media_type})
    pace = transport._pacer(200, headers)
    assert sum(pace(b":\n" * 30_000) for _ in range(10)) > 1_000
    assert httpx2.Response(200, headers=headers).encoding == "utf-8"


INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (ANSWER, "fine"),
        (INTERIM * 16 + ANSWER, "fine"),
        (INTERIM.replace(b"\r", b"") * 16 + ANSWER, "fine"),
        (INTERIM * 17 + ANSWER, "RemoteProtocolError"),
        (INTERIM * 100_000, "RemoteProtocolError"),
        (INTERIM.replace(b"\r", b"") * 100_000, "RemoteProtocolError"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000, "RemoteProtocolError"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + INTERIM * 4_000, INTERIM.decode() * 4_000),
        (b"hello", "RemoteProtocolError"),
        (b"HTTP/1.1 200 OK\r\n", "RemoteProtocolError"),
        (b"", "RemoteProtocolError"),
    ],
)
async def test_an_answer_begins_soon_or_not_at_all(tmp_path: Path, said: bytes, outcome: str, *, tls: bool):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for at in range(0, len(said), 5_000):
            writer.write(said[at : at + 5_000])
            await writer.drain()

    authority = Authority(tmp_path)
    outbound = Outbound(allow_insecure=True, ca_file=authority.file)
    transport = GuardedTransport(outbound.tls(), outbound, "usr_1", lambda _: None, lambda _, __: lambda _: 0.0)
    async with (
        raw_server(serve, authority.context("localhost") if tls else None) as port,
        httpx2.AsyncClient(transport=transport) as client,
    ):
        try:
            answered = (await client.get(f"http{'s' * tls}://localhost:{port}/")).text
        except httpx2.TransportError as error:
            answered = type(error).__name__
    assert answered == outcome


# the engines' view


def test_a_result_s_text_names_what_is_no_text():
    result = ToolResult(
        [
            {"type": "text", "text": "look:"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource_link", "uri": "file:///b"},
            {"type": "odd"},
        ]
    )
    assert result.text == "look:\n[image image/png]\ninside\n[resource_link file:///b]\n[odd]"


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    catalog = {"unruly": StdioServer(tuple(unruly())), "broken": StdioServer(tuple(unruly("exits")))}
    store = await SqliteStore.open(tmp_path / "parley.db")
    core = Core(store, RecallEngine(), Sealer(bytes(32)), CoreOptions(tools=ToolOptions(catalog)))
    user = UserRow("usr_1", "lovelace", None, None, "hash", "free", None, 0)
    await store.commit(Unit((users.insert(user),)))
    for count, entry in enumerate(("parley", "unruly", "broken")):
        row = ToolServerRow(f"mcp_{count}", "usr_1", entry, entry, None, None, None, 0)
        await core.directory.ask("tool_server", row.id, InstallToolServer(row))
    yield core
    assert await core.close(5) == 0


async def test_the_toolbox_offers_all_but_what_fails_and_answers_texts(core: Core):
    toolbox = UserToolbox(core)
    names = {offer.name for offer in await toolbox.tools("usr_1")}
    assert {"parley.current_time", "unruly.echo"} <= names
    assert not any(name.startswith("broken.") for name in names)
    assert await toolbox.invoke("usr_1", "unruly.echo", {"text": "hello"}) == ("hello", False, ())
    assert await toolbox.invoke("usr_1", "unruly.fails", {}) == ("I can't", True, ())
    answer = await toolbox.invoke("usr_1", "parley.current_time", {"timezone": "Europe/Paris"})
    assert "Europe/Paris" in answer.text
    assert not answer.is_error
    with pytest.raises(NotFound):
        await toolbox.invoke("usr_1", "unruly.none", {})
    assert await toolbox.tools("usr_none") == []


@asynccontextmanager
async def one_process_for_two(folder: Path) -> AsyncIterator[Core]:
    """A core that runs one process at a time; each of two users has a tool server."""
    store = await SqliteStore.open(folder / "parley.db")
    tools = ToolOptions({"unruly": StdioServer(tuple(unruly()))}, ToolLimits(processes=1))
    core = Core(store, RecallEngine(), Sealer(bytes(32)), CoreOptions(tools=tools))
    for user_id in ("usr_1", "usr_2"):
        await store.commit(Unit((users.insert(UserRow(user_id, user_id, None, None, "hash", "free", None, 0)),)))
        row = ToolServerRow(f"mcp_{user_id}", user_id, "unruly", "unruly", None, None, None, 0)
        await core.directory.ask("tool_server", row.id, InstallToolServer(row))
    yield core
    assert await core.close(5) == 0


def calling(core: Core, user_id: str, text: str) -> asyncio.Task[ToolResult]:
    return asyncio.create_task(core.directory.ask("tool_server", f"mcp_{user_id}", InvokeTool("echo", {"text": text})))


async def test_a_server_whose_first_call_waits_for_it_gives_way_to_no_other_user(tmp_path: Path):
    async with one_process_for_two(tmp_path) as core:
        call = calling(core, "usr_1", "hello")
        async with asyncio.timeout(30):
            while not call.done():
                with suppress(Overloaded):
                    core.tool_servers.slots.make_room("usr_2")
                await asyncio.sleep(0)
        assert (await call).text == "hello"


async def test_a_server_whose_call_has_just_come_gives_way_to_no_other_user(tmp_path: Path):
    async with one_process_for_two(tmp_path) as core:
        await calling(core, "usr_1", "warm")
        await core.directory.ask("tool_server", "mcp_usr_2", ReadToolServer())  # so that both calls come in one step
        first, second = calling(core, "usr_1", "hello"), calling(core, "usr_2", "me, too")
        assert (await first).text == "hello"
        with pytest.raises(Overloaded):
            await second


async def test_the_gateway_starts_without_the_sdk_which_is_heavy():
    program = (
        "import server, sys; print(sorted({'mcp', 'mcp_types', 'httpx2', 'starlette', 'jsonschema'} & {*sys.modules}))"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, cwd=CHECKOUT
    )
    output, _ = await process.communicate()
    assert output.decode().strip() == "[]"
