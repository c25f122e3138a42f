"""The post over a real NATS server, when the server or the connections to it fail."""

import asyncio
import gc
import logging
import resource
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable
from time import perf_counter

import pytest

from actors.runtime.cluster.nats_client import DirectClient, DirectParser, Message
from actors.runtime.cluster.nats_post import NatsPost
from actors.runtime.cluster.parts import PART_BYTES, Gap, Joining, Joinings, split
from actors.runtime.cluster.post import Lost, NotReached
from actors.runtime.cluster.replies import Replies
from tests.support import nats
from tests.support.nats import NatsServer
from tests.support.posts import Served
from tests.support.relay import Link, linked

log = logging.getLogger("parley.tests")


@pytest.fixture
async def server() -> AsyncIterator[NatsServer]:
    async with nats.running() as server:
        yield server


class Pair:
    """Node `one`, which sends, and node `two`, which serves; the link of each to the server can be cut."""

    def __init__(self, links: tuple[Link, Link]) -> None:
        self.links = links
        self.one, self.two = (NatsPost(f"nats://127.0.0.1:{link.port}") for link in links)
        self.served = Served(self.two, "two")

    async def start(self) -> None:
        await self.one.start("one")
        await self.two.start("two")

    async def begun(self) -> AsyncIterator[bytes]:
        """Begin a request of `one` that `two` answers slowly; return the rest of its answer."""
        waiting = self.one.request("two", "slow", b"", timeout_s=60)
        assert await anext(waiting) == b"begun"
        return waiting

    async def answers(self) -> None:
        """Wait until requests of `one` are answered by `two`, in time for a reconnection."""
        async with asyncio.timeout(30):
            while True:
                try:
                    assert await self.one.call("two", "echo", b"?", timeout_s=1) == b"two:?"
                    return
                except (NotReached, Lost):
                    await asyncio.sleep(0.05)


@pytest.fixture
async def pair(server: NatsServer) -> AsyncIterator[Pair]:
    async with linked(server.port) as first, linked(server.port) as second:
        pair = Pair((first, second))
        await pair.start()
        yield pair
        await pair.one.close()
        await pair.two.close()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_nodes_find_each_other_again_after_a_restart_of_the_server(server: NatsServer, pair: Pair) -> None:
    heard: list[bytes] = []
    back: list[str] = []
    pair.two.follow("t", heard.append)
    pair.one.on_reconnect.append(lambda: back.append("one"))
    pair.two.on_reconnect.append(lambda: back.append("two"))
    waiting = await pair.begun()
    await server.down()
    with pytest.raises(Lost, match="connection to NATS ended"):
        await asyncio.wait_for(anext(waiting), 30)
    assert not pair.one.connected
    with pytest.raises(NotReached, match="no connection"):
        await pair.one.call("two", "echo", b"", timeout_s=60)
    pair.one.publish("t", b"lost")
    await server.up()
    await pair.answers()
    assert sorted(back) == ["one", "two"]
    pair.one.publish("t", b"heard")
    await until(lambda: heard)
    assert heard == [b"heard"]


async def test_what_waits_for_a_node_is_lost_when_that_node_was_disconnected(pair: Pair) -> None:
    waiting = await pair.begun()
    pair.links[1].cut()
    await until(lambda: not pair.two.connected)
    with pytest.raises(NotReached, match="not connected"):
        await pair.one.call("two", "echo", b"", timeout_s=60)
    pair.served.release.set()  # its last frame goes nowhere
    pair.links[1].mend()
    with pytest.raises(Lost, match="was disconnected"):
        await asyncio.wait_for(anext(waiting), 30)
    await pair.answers()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nats-py leaves refused streams open
async def test_what_waits_for_a_node_is_lost_while_that_node_is_disconnected(pair: Pair) -> None:
    waiting = await pair.begun()
    pair.links[1].cut()
    with pytest.raises(Lost, match="was disconnected"):
        await asyncio.wait_for(anext(waiting), 10)
    pair.links[1].mend()
    await pair.answers()
    gc.collect()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nats-py leaves refused streams open
async def test_what_waits_for_a_node_whose_link_hangs_is_lost_and_the_next_is_refused_at_once(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Replies, "PROBED_AFTER", 2)
    monkeypatch.setattr(Replies, "SILENT_AFTER", 8)
    waiting = await pair.begun()
    late = asyncio.ensure_future(anext(waiting))
    done, _ = await asyncio.wait({late}, timeout=3)
    assert not done, "a node that has nothing to say yet is no silent one"
    pair.links[1].stall()
    with pytest.raises(Lost, match="nothing comes"):
        await asyncio.wait_for(late, 10)
    with pytest.raises(NotReached, match="nothing comes"):
        await asyncio.wait_for(pair.one.call("two", "echo", b"", timeout_s=60), 1)
    pair.links[1].mend()
    await pair.answers()
    gc.collect()


async def test_a_link_that_hangs_is_noticed_by_pings(pair: Pair) -> None:
    waiting = await pair.begun()
    pair.links[0].stall()
    with pytest.raises(Lost, match="connection to NATS ended"):
        await asyncio.wait_for(anext(waiting), 30)
    pair.links[0].mend()
    await pair.answers()


async def test_a_server_that_stands_still_loses_or_delays_but_mixes_nothing_up(server: NatsServer, pair: Pair) -> None:
    body = bytes(3 * PART_BYTES)
    calls = [asyncio.ensure_future(pair.one.call("two", "echo", body, timeout_s=30)) for _ in range(4)]
    await asyncio.sleep(0.001)
    server.signal(signal.SIGSTOP)
    await asyncio.sleep(1.0)
    server.signal(signal.SIGCONT)
    assert await asyncio.gather(*calls) == [b"two:" + body] * 4


async def test_a_body_that_is_cut_in_the_middle_begins_nothing(pair: Pair) -> None:
    body = bytes(8 * PART_BYTES)
    for delay in (0.0, 0.001, 0.002, 0.004, 0.008):
        call = asyncio.ensure_future(pair.one.call("two", "echo", body, timeout_s=30))
        await asyncio.sleep(delay)
        pair.links[0].cut()
        with pytest.raises(Lost):
            await call
        pair.links[0].mend()
        await pair.answers()
    assert all(begun in (body, b"?") for begun in pair.served.begun)


async def test_a_thousand_requests_at_once_are_answered_each_with_its_own(pair: Pair) -> None:
    bodies = [str(n).encode() * (n % 50) for n in range(1_000)]
    answers = await asyncio.gather(*(pair.one.call("two", "echo", body, timeout_s=20) for body in bodies))
    assert answers == [b"two:" + body for body in bodies]
    assert len(pair.served.begun) == 1_000


async def test_the_cost_of_one_hop(server: NatsServer) -> None:
    """It is logged, for whoever runs this alone with `--log-cli-level info`; no figure of time is asserted."""
    one, two = NatsPost(server.url), NatsPost(server.url)
    served = Served(two, "two")
    await one.start("one")
    await two.start("two")
    for at_once, count in ((1, 1_000), (64, 5_000)):
        left = count

        async def ask() -> None:
            nonlocal left
            while left > 0:
                left -= 1
                await one.call("two", "echo", bytes(300), timeout_s=20)

        began, used = perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        await asyncio.gather(*(ask() for _ in range(at_once)))
        took, spent = perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
        busy = spent.ru_utime + spent.ru_stime - used.ru_utime - used.ru_stime
        log.info(
            "%d at once: %.0f us a hop, processor %.0f us (both nodes in one process)",
            *(at_once, 1e6 * took / count, 1e6 * busy / count),
        )
    assert len(served.begun) == 6_000
    await one.close()
    await two.close()


async def test_a_fault_in_one_message_is_logged_and_the_next_ones_are_heard(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[bytes] = []

    def hear(body: bytes) -> None:
        if body == b"a fault":
            raise ValueError(body)
        heard.append(body)

    unfollow = pair.two.follow("news", hear)
    await pair.two.settled()
    for body in (b"first", b"a fault", b"last"):
        pair.one.publish("news", body)
    await until(lambda: heard == [b"first", b"last"])
    assert "was not taken in" in caplog.text
    unfollow()
    pair.one.publish("news", b"unheard")
    await pair.answers()
    assert heard == [b"first", b"last"]


async def test_a_start_without_a_server_says_so() -> None:
    port = nats.free_port()
    post = NatsPost(f"nats://parley:secret@127.0.0.1:{port}", connect_s=0.5)
    with pytest.raises(ConnectionError, match=f"no connection to NATS at 127.0.0.1:{port}: .") as refused:
        await post.start("one")
    assert "secret" not in str(refused.value)


async def test_a_start_with_a_server_that_does_not_answer_says_so(server: NatsServer) -> None:
    server.signal(signal.SIGSTOP)
    post = NatsPost(server.url, connect_s=0.5)
    with pytest.raises(ConnectionError, match=r"no connection to NATS at .*: TimeoutError"):
        await post.start("one")
    server.signal(signal.SIGCONT)


async def test_a_start_with_a_wrong_password_says_so() -> None:
    async with nats.running({"authorization": "{user: parley, password: secret}"}) as server:
        said = ""
        for connect_s in (0.5, 5, 30):  # it tries for that long, and a slow machine has no answer before
            with pytest.raises(ConnectionError) as refused:
                await NatsPost(server.url.replace("//", "//parley:wrong@"), connect_s=connect_s).start("one")
            said = str(refused.value).lower()
            if "authorization" in said:
                break
        assert "authorization" in said
        post = NatsPost(server.url.replace("//", "//parley:secret@"))
        Served(post, "one")
        await post.start("one")
        assert await post.call("one", "echo", b"", timeout_s=30) == b"one:"
        await post.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nats-py leaves refused streams open
async def test_a_node_whose_password_was_refused_comes_back_when_it_is_right_again() -> None:
    settings = {"authorization": "{user: parley, password: secret}"}
    server = NatsServer(settings)
    other = NatsServer({"authorization": "{user: parley, password: other}"}, port=server.port)
    try:
        await server.up()
        post = NatsPost(server.url.replace("//", "//parley:secret@"))
        Served(post, "one")
        heard: list[bytes] = []
        post.follow("t", heard.append)
        await post.start("one")
        await server.down()
        await other.up()
        await until(lambda: "uthorization" in other.log or "authentication error" in other.log)
        await asyncio.sleep(1.0)
        await other.down()
        await server.up()
        await until(lambda: post.connected)
        await post.settled()
        post.publish("t", b"heard")
        await until(lambda: heard)
        assert await post.call("one", "echo", b"", timeout_s=30) == b"one:"
        await post.close()
    finally:
        await server.stop()
        await other.stop()
        gc.collect()


async def test_a_server_that_takes_only_small_messages_is_refused() -> None:
    async with nats.running({"max_payload": "64KB"}) as server:
        with pytest.raises(ConnectionError, match="max_payload 65536"):
            await NatsPost(server.url).start("one")


async def test_a_node_has_a_plain_id() -> None:
    for node in ("", "a.b", "a b", "*", ">"):
        with pytest.raises(ValueError, match="is no id of a node"):
            await NatsPost("nats://127.0.0.1:1").start(node)


class Hearing(DirectClient):
    """A client without a connection, which notes what its parser delivers."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[int, Message]] = []

    def deliver(self, sid: int, message: Message) -> None:
        self.heard.append((sid, message))


async def test_messages_are_heard_once_and_whole_wherever_their_bytes_are_cut() -> None:
    said = (
        b"MSG parley.n.two.echo 2 parley.r.one.7 13\r\nMSG a 1 0\r\n\r\n\r\n"  # its body looks like a message
        b"+OK\r\n"
        b"HMSG parley.r.one.8 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n"
        b"MSG parley.back 3 3\r\none\r\n"
    )
    expected = [
        (2, Message(b"parley.n.two.echo", b"parley.r.one.7", b"MSG a 1 0\r\n\r\n")),
        (1, Message(b"parley.r.one.8", b"", b"")),
        (3, Message(b"parley.back", b"", b"one")),
    ]
    for second in range(len(said) + 1):
        for first in range(second + 1):
            client = Hearing()
            parser = DirectParser(client)
            for piece in (said[:first], said[first:second], said[second:]):
                await parser.parse(piece)
            assert client.heard == expected, (first, second)


def test_a_lost_part_is_noticed() -> None:
    messages = list(split(1, bytes(3 * PART_BYTES), first=5))
    assert [len(message) for message in messages] == [PART_BYTES + 5] * 3
    for missing in range(3):
        joinings = Joinings()
        arriving = iter([*messages[:missing], *messages[missing + 1 :], *split(1, b"next", first=8)])
        with pytest.raises(Gap):
            deque(joinings.take(b"key", message) for message in arriving)
        assert len(joinings) == 0


def test_bodies_of_one_sequence_are_joined_in_order() -> None:
    joining = Joining()
    first, second = bytes(2 * PART_BYTES), b"second"
    messages = [*split(2, first), *split(3, second, first=2)]
    assert [taken for message in messages if (taken := joining.take(message))] == [(2, first), (3, second)]
