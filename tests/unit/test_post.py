"""What every post does, on the one for tests and on a real NATS server."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from actors.runtime.cluster.nats_post import NatsPost
from actors.runtime.cluster.parts import PART_BYTES
from actors.runtime.cluster.post import Lost, NotReached, NotServed, Post
from tests.support import nats
from tests.support.loopback_post import LoopbackPost, Network
from tests.support.posts import Served


@pytest.fixture(scope="module", params=["loopback", "nats"])
async def make_post(request: pytest.FixtureRequest) -> AsyncIterator[Callable[[], Post]]:
    if request.param == "loopback":
        network = Network(seed=1)
        yield lambda: LoopbackPost(network)
        return
    async with nats.running() as server:
        yield lambda: NatsPost(server.url)


@pytest.fixture
async def two(make_post: Callable[[], Post]) -> AsyncIterator[tuple[Post, Post]]:
    one, other = make_post(), make_post()
    for post, node in ((one, "one"), (other, "two")):
        Served(post, node)
        await post.start(node)
    yield one, other
    await one.close()
    await other.close()


async def test_a_request_is_answered_in_frames_in_order(two: tuple[Post, Post]) -> None:
    one, _ = two
    assert one.connected
    assert await one.call("two", "echo", b"hello", timeout_s=30) == b"two:hello"
    assert await one.call("one", "echo", b"", timeout_s=30) == b"one:"
    assert [frame async for frame in one.request("two", "three", b"f", timeout_s=30)] == [b"f0", b"f1", b"f2"]


@pytest.mark.parametrize("size", [PART_BYTES - 4, PART_BYTES - 3, 2 * PART_BYTES, 5 * PART_BYTES + 1])
async def test_bodies_of_any_size_travel(two: tuple[Post, Post], size: int) -> None:
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    one, other = two
    assert await one.call("two", "echo", body, timeout_s=20) == b"two:" + body
    frames = [frame async for frame in one.request("two", "three", body, timeout_s=20)]
    assert frames == [body + b"0", body + b"1", body + b"2"]
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    unfollow = other.follow("large", heard.set_result)
    await other.settled()
    one.publish("large", body)
    assert await asyncio.wait_for(heard, 20) == body
    unfollow()


async def test_an_answer_of_several_frames_is_no_answer_to_a_call(two: tuple[Post, Post]) -> None:
    with pytest.raises(Lost, match="3 frames"):
        await two[0].call("two", "three", b"f", timeout_s=30)


async def test_a_request_that_is_refused_or_finds_no_node_never_began(two: tuple[Post, Post]) -> None:
    for node, subject in (("two", "refuse"), ("two", "unknown"), ("nobody", "echo")):
        with pytest.raises(NotReached) as refused:
            await two[0].call(node, subject, b"", timeout_s=60)
        assert isinstance(refused.value, NotServed) == (node == "two")
    with pytest.raises(NotReached):
        await two[0].call("nobody", "echo", bytes(3 * PART_BYTES), timeout_s=60)


async def test_a_request_that_fails_after_its_first_frame_is_lost(
    two: tuple[Post, Post], caplog: pytest.LogCaptureFixture
) -> None:
    for subject in ("refuse", "break_down"):
        frames = two[0].request("two", subject, b"after a frame", timeout_s=30)
        assert await anext(frames) == b"after a frame"
        with pytest.raises(Lost):
            await anext(frames)
    assert "a request from another node failed" in caplog.text


async def test_frames_arrive_while_the_request_goes_on_and_end_late_or_with_their_node(
    two: tuple[Post, Post],
) -> None:
    one, other = two
    late = await begun_in_time(one)
    with pytest.raises(Lost, match="in time"):
        await anext(late)
    frames = one.request("two", "slow", b"", timeout_s=60)
    assert await anext(frames) == b"begun"
    await other.close()
    with pytest.raises(Lost, match="stopped meanwhile"):
        await anext(frames)
    with pytest.raises(NotReached):
        await one.call("two", "echo", b"", timeout_s=60)


async def begun_in_time(post: Post) -> AsyncIterator[bytes]:
    """Begin a request that ends late, whose first frame came in time: soon, or later on a slow machine."""
    timeout_s = 0.3
    while True:
        late = post.request("two", "slow", b"", timeout_s=timeout_s)
        try:
            assert await anext(late) == b"begun"
        except Lost:
            timeout_s *= 3
        else:
            return late


async def test_what_waits_for_a_dead_node_is_lost_at_once(two: tuple[Post, Post]) -> None:
    one, _ = two
    waiting = [one.request(node, "slow", b"", timeout_s=60) for node in ("two", "one")]
    for frames in waiting:
        assert await anext(frames) == b"begun"
    one.lose("two")
    with pytest.raises(Lost, match="dead"):
        await anext(waiting[0])
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(waiting[1]), 0.05)


async def test_a_request_needs_no_task(two: tuple[Post, Post]) -> None:
    done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    stepping = two[0].call("two", "echo", b"stepped", timeout_s=30)

    def step(_: object = None) -> None:
        try:
            waits_for = stepping.send(None)
        except StopIteration as end:
            done.set_result(end.value)
            return
        waits_for._asyncio_future_blocking = False
        waits_for.add_done_callback(step)

    asyncio.get_running_loop().call_soon(step)
    assert await asyncio.wait_for(done, 30) == b"two:stepped"


async def test_a_topic_is_heard_by_all_who_follow_it(make_post: Callable[[], Post]) -> None:
    heard: list[tuple[str, bytes]] = []

    async def hears(count: int) -> None:
        async with asyncio.timeout(30):
            while len(heard) < count:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)  # nothing more comes

    one, two = make_post(), make_post()
    one.follow("map", lambda body: heard.append(("one", body)))  # before the start
    await one.start("first")
    await two.start("second")
    unfollow = two.follow("map", lambda body: heard.append(("two", body)))
    unfollow_again = two.follow("map", lambda body: heard.append(("again", body)))
    two.follow("other", lambda body: heard.append(("other", body)))
    await two.settled()
    one.publish("map", b"1")
    await hears(3)
    for end in (unfollow, unfollow, unfollow_again):
        end()
    await two.settled()
    two.publish("map", b"2")
    await hears(4)
    unfollow = two.follow("map", lambda body: heard.append(("two", body)))
    await two.settled()
    one.publish("map", b"3")
    await hears(6)
    assert sorted(heard) == [
        ("again", b"1"),
        *(("one", body) for body in (b"1", b"2", b"3")),
        ("two", b"1"),
        ("two", b"3"),
    ]
    await one.close()
    await two.close()
    assert not one.connected


async def test_requests_of_one_sender_begin_in_order(make_post: Callable[[], Post]) -> None:
    one, two = make_post(), make_post()
    served = Served(two, "two")
    await two.start("two")
    await one.start("one")
    bodies = [str(n).encode() for n in range(200)]
    answers = await asyncio.gather(*(one.call("two", "echo", body, timeout_s=30) for body in bodies))
    assert served.begun == bodies
    assert answers == [b"two:" + body for body in bodies]
    await one.close()
    await two.close()
