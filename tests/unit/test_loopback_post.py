"""What the post within one process does to requests and messages, by a seed; test_post.py has what every post does."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.runtime.cluster.post import Lost, NotReached
from tests.support.loopback_post import LoopbackPost, Network
from tests.support.posts import Served


async def posts(network: Network, *nodes: str) -> list[LoopbackPost]:
    """Start a post for each node."""
    made = [LoopbackPost(network) for _ in nodes]
    for node, post in zip(nodes, made, strict=True):
        Served(post, node)
        await post.start(node)
    return made


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


async def test_messages_are_doubled_and_dropped_as_often_as_asked() -> None:
    heard: Counter[bytes] = Counter()
    one, two = await posts(Network(seed=3, doubled=0.25, dropped=0.25), "one", "two")
    two.follow("t", lambda body: heard.update([body]))
    for n in range(400):
        one.publish("t", bytes([n % 256, n // 256]))
    for _ in range(50):  # turns of the loop
        await asyncio.sleep(0.001)
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
