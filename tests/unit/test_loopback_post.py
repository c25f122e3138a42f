"""The post within one process: what a request or a message may meet between nodes, by a seed."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.runtime.cluster.loopback_post import LoopbackPost, Network
from actors.runtime.cluster.post import Lost, NotReached, Post


async def posts(network: Network, *nodes: str) -> list[LoopbackPost]:
    """Start a post for each node that serves `echo`, `three` and `refuse`."""
    made = [LoopbackPost(network) for _ in nodes]
    for node, post in zip(nodes, made, strict=True):
        _: Post = post  # it has the whole protocol

        async def echo(body: bytes, node: str = node) -> AsyncIterator[bytes]:
            yield node.encode() + b":" + body

        async def three(body: bytes) -> AsyncIterator[bytes]:
            for n in range(3):
                yield body + str(n).encode()
                await asyncio.sleep(0)

        async def refuse(body: bytes) -> AsyncIterator[bytes]:
            if body != b"after a frame":
                raise NotReached("not my shard")
            yield body
            raise NotReached("too late to say so")

        async def break_down(body: bytes) -> AsyncIterator[bytes]:
            yield body
            raise RuntimeError("a fault of the test")

        for handler in (echo, three, refuse, break_down):
            post.serve(handler.__name__, handler)
        await post.start(node)
    return made


async def test_a_request_is_answered_in_frames_in_order() -> None:
    one, _ = await posts(Network(), "one", "two")
    assert await one.call("two", "echo", b"hello", timeout_s=5) == b"two:hello"
    assert [frame async for frame in one.request("two", "three", b"f", timeout_s=5)] == [b"f0", b"f1", b"f2"]
    assert await one.call("one", "echo", b"itself", timeout_s=5) == b"one:itself"


async def test_an_answer_of_several_frames_is_no_answer_to_a_call() -> None:
    one, _ = await posts(Network(), "one", "two")
    with pytest.raises(Lost, match="3 frames"):
        await one.call("two", "three", b"f", timeout_s=5)


async def test_a_request_that_is_refused_or_finds_no_node_never_began() -> None:
    one, _ = await posts(Network(), "one", "two")
    for node, subject in (("two", "refuse"), ("two", "unknown"), ("nobody", "echo")):
        with pytest.raises(NotReached):
            await one.call(node, subject, b"", timeout_s=5)


async def test_a_request_that_fails_after_its_first_frame_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    one, _ = await posts(Network(), "one", "two")
    for subject in ("refuse", "break_down"):
        frames = one.request("two", subject, b"after a frame", timeout_s=5)
        assert await anext(frames) == b"after a frame"
        with pytest.raises(Lost):
            await anext(frames)
    assert "a request from another node failed" in caplog.text


async def test_a_late_answer_is_lost() -> None:
    one, two = LoopbackPost(network := Network()), LoopbackPost(network)

    async def sleep(body: bytes) -> AsyncIterator[bytes]:
        await asyncio.sleep(60)
        yield body

    two.serve("sleep", sleep)
    await one.start("one")
    await two.start("two")
    with pytest.raises(Lost, match="in time"):
        await one.call("two", "sleep", b"", timeout_s=0.01)
    waiting = asyncio.ensure_future(one.call("two", "sleep", b"", timeout_s=60))
    await asyncio.sleep(0.01)
    await two.close()
    with pytest.raises(Lost, match="stopped meanwhile"):
        await waiting


async def test_what_waits_for_a_dead_node_is_lost_at_once() -> None:
    one, two, three = await posts(Network(delay_s=0.05), "one", "two", "three")
    waiting = [asyncio.ensure_future(one.call(node, "echo", b"", timeout_s=60)) for node in ("two", "three")]
    await asyncio.sleep(0)
    one.lose("two")
    with pytest.raises(Lost):
        await waiting[0]
    assert await waiting[1] == b"three:"
    assert two.connected
    assert three.connected


async def test_a_request_needs_no_task() -> None:
    one, _ = await posts(Network(), "one", "two")
    done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    stepping = one.call("two", "echo", b"stepped", timeout_s=5)

    def step(_: object = None) -> None:
        try:
            waits_for = stepping.send(None)
        except StopIteration as end:
            done.set_result(end.value)
            return
        waits_for._asyncio_future_blocking = False
        waits_for.add_done_callback(step)

    asyncio.get_running_loop().call_soon(step)
    assert await asyncio.wait_for(done, 5) == b"two:stepped"


async def test_requests_of_one_sender_begin_in_order_and_those_of_two_in_any() -> None:
    begun: list[bytes] = []
    network = Network(seed=7, delay_s=0.005)
    one, two, target = (LoopbackPost(network) for _ in range(3))

    async def note(body: bytes) -> AsyncIterator[bytes]:
        begun.append(body)
        yield b""

    target.serve("note", note)
    for node, post in (("one", one), ("two", two), ("target", target)):
        await post.start(node)
    await asyncio.gather(
        *(post.call("target", "note", name + bytes([n]), timeout_s=5) for n in range(30) for name, post in
          ((b"a", one), (b"b", two)))
    )  # fmt: skip
    assert [body[1] for body in begun if body[:1] == b"a"] == list(range(30))
    assert [body[1] for body in begun if body[:1] == b"b"] == list(range(30))
    assert begun != [name + bytes([n]) for n in range(30) for name in (b"a", b"b")]


async def test_a_topic_is_heard_by_all_who_follow_it() -> None:
    heard: list[tuple[str, bytes]] = []
    one, two = await posts(Network(), "one", "two")
    one.follow("map", lambda body: heard.append(("one", body)))
    unfollow = two.follow("map", lambda body: heard.append(("two", body)))
    two.follow("other", lambda body: heard.append(("other", body)))
    one.publish("map", b"1")
    await asyncio.sleep(0.02)
    unfollow()
    unfollow()
    two.publish("map", b"2")
    await asyncio.sleep(0.02)
    assert sorted(heard) == [("one", b"1"), ("one", b"2"), ("two", b"1")]


async def test_messages_are_doubled_and_dropped_as_often_as_asked() -> None:
    heard: Counter[bytes] = Counter()
    one, two = await posts(Network(seed=3, doubled=0.25, dropped=0.25), "one", "two")
    two.follow("t", lambda body: heard.update([body]))
    for n in range(400):
        one.publish("t", bytes([n % 256, n // 256]))
    await asyncio.sleep(0.05)
    assert 60 < 400 - len(heard) < 140
    assert 40 < sum(1 for times in heard.values() if times == 2) < 110
    assert set(heard.values()) == {1, 2}


async def test_a_node_that_is_cut_off_knows_it_and_comes_back() -> None:
    network = Network(delay_s=0.05)
    one, two, three = await posts(network, "one", "two", "three")
    back: list[str] = []
    two.on_reconnect.append(lambda: back.append("two"))
    not_begun = asyncio.ensure_future(one.call("two", "echo", b"", timeout_s=60))
    await asyncio.sleep(0)
    network.cut("two")
    with pytest.raises(NotReached):
        await not_begun
    assert (one.connected, two.connected, three.connected) == (True, False, True)
    for post, node in ((one, "two"), (two, "one"), (two, "two")):
        with pytest.raises(NotReached):
            await post.call(node, "echo", b"", timeout_s=60)
    assert await one.call("three", "echo", b"", timeout_s=5) == b"three:"
    network.heal("two")
    assert back == ["two"]
    assert await one.call("two", "echo", b"", timeout_s=5) == b"two:"


async def test_a_link_between_two_nodes_is_cut_alone() -> None:
    network = Network()
    one, two, _ = await posts(network, "one", "two", "three")
    network.cut("one", "two")
    for post, node in ((one, "two"), (two, "one")):
        assert post.connected
        with pytest.raises(NotReached):
            await post.call(node, "echo", b"", timeout_s=60)
        assert await post.call("three", "echo", b"", timeout_s=5) == b"three:"
    network.heal("two", "one")
    assert await one.call("two", "echo", b"", timeout_s=5) == b"two:"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_whatever_happens_a_request_runs_once_at_most_and_not_at_all_if_not_reached(seed: int) -> None:
    asyncio.run(requests_under_cuts(seed))


async def requests_under_cuts(seed: int) -> None:
    rng = random.Random(seed)
    network = Network(seed, delay_s=0.002, failed=0.2)
    nodes = ["a", "b", "c"]
    executed: Counter[bytes] = Counter()
    made = {node: LoopbackPost(network) for node in nodes}

    async def note(body: bytes) -> AsyncIterator[bytes]:
        executed[body] += 1
        await asyncio.sleep(rng.uniform(0, 0.002))
        yield body

    for node, post in made.items():
        post.serve("note", note)
        await post.start(node)

    async def request(number: int) -> None:
        body = str(number).encode()
        await asyncio.sleep(rng.uniform(0, 0.03))
        sender, target = rng.choice(nodes), rng.choice(nodes)
        try:
            assert await made[sender].call(target, "note", body, timeout_s=10) == body
            assert executed[body] == 1
        except NotReached:
            assert executed[body] == 0
        except Lost:
            pass

    async def cut() -> None:
        for _ in range(5):
            ends = rng.sample(nodes, rng.choice([1, 2]))
            network.cut(*ends)
            await asyncio.sleep(rng.uniform(0, 0.005))
            network.heal(*ends)

    await asyncio.gather(cut(), *map(request, range(60)))
    await asyncio.sleep(0.01)
    assert set(executed.values()) <= {1}
    for post in made.values():
        await post.close()
