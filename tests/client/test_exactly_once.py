"""Calls and streams of the Python client arrive exactly once over a network that loses, delays and refuses."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from parley_client import (
    AsyncParley,
    ChatDelta,
    ChatDone,
    EntityError,
    GatewayError,
    NoConnection,
    UnexpectedAnswer,
    ZoneMembership,
    ZoneMessage,
)
from parley_client._repeating import Call, Repeats, may_repeat, refusal, retry_after
from parley_client.errors import LimitError
from tests.support.client_world import PASSWORD, World, opened
from tests.support.flaky_proxy import FlakyProxy, flaky
from tests.support.gateway import GatewayProcess


@pytest.fixture(scope="module")
async def world(gateway: GatewayProcess) -> AsyncIterator[World]:
    made = await opened(gateway.base)
    yield made
    await made.close()


@pytest.fixture
async def proxy(gateway: GatewayProcess) -> AsyncIterator[FlakyProxy]:
    async with flaky(gateway.base) as made:
        yield made


@pytest.fixture
async def client(proxy: FlakyProxy, world: World) -> AsyncIterator[AsyncParley]:
    """The owner of the world, through the proxy."""
    async with AsyncParley(proxy.base, tries=30) as made:
        await made.log_on("lovelace", PASSWORD)
        yield made


async def chat(client: AsyncParley, conversation: str, texts: list[str]) -> None:
    for text in texts:
        await client.agents.chat(text, conversation=conversation)


async def chats_arrive_once(client: AsyncParley, world: World, count: int) -> None:
    conversations = [await world.owner.conversations.create(agent="scout") for _ in range(10)]
    each = count // len(conversations)
    texts = {made.id: [f"Chat {number} of {made.id}" for number in range(each)] for made in conversations}
    await asyncio.gather(*(chat(client, conversation, said) for conversation, said in texts.items()))
    for made in conversations:
        history = world.owner.agents.history(conversation=made.id, limit=200)
        # Pages go back from the newest, each with its newest message last.
        messages = sorted([message async for message in history], key=lambda message: message.seq)
        assert [message.content for message in messages if message.role == "user"] == texts[made.id]
        assert [message.seq for message in messages] == [*range(1, 2 * each + 1)]


async def test_chats_arrive_once_over_a_proxy_that_drops_delays_and_refuses(
    client: AsyncParley, world: World, proxy: FlakyProxy
) -> None:
    proxy.chance = 0.2
    await chats_arrive_once(client, world, 60)
    assert min(proxy.faults[kind] for kind in ("503", "dropped", "delayed")) > 0


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_a_thousand_chats_arrive_once(client: AsyncParley, world: World, proxy: FlakyProxy) -> None:
    proxy.chance = 0.2
    await chats_arrive_once(client, world, 1_000)
    assert min(proxy.faults[kind] for kind in ("503", "dropped", "delayed")) > 20


async def test_a_followed_zone_has_no_gap_and_no_double_over_twenty_cuts(
    client: AsyncParley, world: World, proxy: FlakyProxy
) -> None:
    await world.owner.domains.create("observatory", "Looks up", agent="scout", access="public")
    stream = client.zones.stream(domain="observatory")
    seen: list[str] = []
    ids: list[int] = []

    async def follow() -> None:
        async for event in stream:
            ids.append(int(event.id))
            if isinstance(event, ZoneMessage):
                seen.append(event.message.content)
            else:
                seen.append(event.membership.agent)

    following = asyncio.create_task(follow())
    while stream.position is None:  # before its first event, it knows where it stands
        await asyncio.sleep(0.01)
    said: list[str] = []
    for number in range(20):
        proxy.cut()
        for text in (f"Note {number}", f"Again {number}"):
            await world.owner.zones.post(text, domain="observatory")
            said.append(text)
        await asyncio.sleep(0.05)
    await world.guest.domains.join(domain="observatory", agent="marlow")
    async with asyncio.timeout(30):
        while len(seen) < 41 and not following.done():
            await asyncio.sleep(0.01)
    await world.owner.domains.destroy("observatory")
    await asyncio.wait_for(following, 30)
    assert seen[:41] == [*said, "marlow"]
    assert ids == sorted(set(ids))
    assert stream.reason == "domain destroyed"


async def test_a_stream_begins_after_an_event_and_its_events_have_types(world: World) -> None:
    await world.owner.domains.create("archive", "Keeps notes", agent="scout", access="public")
    await world.owner.zones.post("First", domain="archive")
    await world.guest.domains.join(domain="archive", agent="marlow")
    stream = world.owner.zones.stream(domain="archive", after="0")
    events: list[Any] = []
    async for event in stream:
        events.append(event)
        if len(events) == 2:
            break
    assert isinstance(events[0], ZoneMessage)
    assert isinstance(events[1], ZoneMembership)
    assert (events[0].message.content, events[1].membership.agent) == ("First", "marlow")


async def test_a_streamed_chat_goes_on_where_it_was_cut(client: AsyncParley, proxy: FlakyProxy, world: World) -> None:
    await world.owner.banks.create(name="field-notes", agent="scout")
    text = " ".join(f"The comet number {number} has a tail of {number} km." for number in range(30))
    await world.owner.banks.load("field-notes", "Comets", content=text, agent="scout")
    for number in range(2):
        proxy.cuts = 2
        stream = client.agents.stream_chat(f"How long is the tail of comet {number}?", agent="scout")
        events = [event async for event in stream]
        done = events[-1]
        assert isinstance(done, ChatDone)
        assert "".join(event.text for event in events if isinstance(event, ChatDelta)) == done.reply.content
        assert stream.run is not None
    assert proxy.faults["cut"] > 0
    history = [message.content async for message in client.agents.history("scout")]
    assert len([said for said in history if said.startswith("How long is the tail")]) == 2


async def test_a_streamed_chat_in_a_zone_has_its_reply_once(
    client: AsyncParley, proxy: FlakyProxy, world: World
) -> None:
    await world.owner.domains.create("harbour", "Ships", agent="scout")
    for number in range(2):
        proxy.cuts = 2
        stream = client.agents.stream_chat(f"Ship {number}?", agent="scout", domain="harbour")
        events = [event async for event in stream]
        assert isinstance(events[-1], ChatDone)
        assert "".join(event.text for event in events if isinstance(event, ChatDelta)) == events[-1].reply.content
    assert proxy.faults["cut"] > 0
    page = await client.zones.read(domain="harbour").page()
    assert [message.content for message in page.items if message.role == "user"] == [f"Ship {n}?" for n in range(2)]


async def test_a_repeat_of_a_caller_with_its_own_key_is_the_same_call(world: World) -> None:
    first = await world.owner.agents.chat("Once", agent="scout", idempotency_key="mine-1")
    assert await world.owner.agents.chat("Once", agent="scout", idempotency_key="mine-1") == first
    with pytest.raises(EntityError) as refused:
        await world.owner.agents.chat("Twice", agent="scout", idempotency_key="mine-1")
    assert refused.value.code == 3002


async def test_what_has_no_key_is_not_sent_again_after_a_lost_answer(proxy: FlakyProxy, unique: str) -> None:
    proxy.chance = 1.0
    proxy._random.choice = lambda _: "dropped"  # type: ignore[method-assign,assignment]
    async with AsyncParley(proxy.base) as nobody:
        with pytest.raises(NoConnection) as lost:
            await nobody.users.create(f"{unique}-user", PASSWORD)
    assert lost.value.may_be_done
    assert proxy.faults["dropped"] == 1


async def test_a_call_may_be_done_where_any_of_its_tries_may_be(gateway: GatewayProcess, unique: str) -> None:
    async with AsyncParley(gateway.base, tries=3) as client:
        key = (await client.keys.sandbox()).key
    for stream in (False, True):
        async with flaky(gateway.base) as proxy:
            client = AsyncParley(proxy.base, key, tries=3)
            chat = client.agents.stream_chat("Hello", agent=unique)
            proxy.passes = 0
            calling = asyncio.ensure_future(anext(aiter(chat)) if stream else client.agents.create(unique, "Found"))
            await proxy.held.wait()
        with pytest.raises(NoConnection) as lost:  # the first try was cut, and the others met nobody
            await calling
        assert lost.value.may_be_done
        await client.close()


async def test_a_gateway_that_is_not_there_is_no_connection() -> None:
    async with AsyncParley("http://127.0.0.1:9", tries=2) as client:
        with pytest.raises(NoConnection) as lost:
            await client.gateway.health()
    assert not lost.value.may_be_done


def status(code: int, http: int) -> dict[str, Any]:
    return {"status": {"success": False, "internal_code": code, "http_code": http, "note": "No."}}


CALL = Call("POST", "/", {}, {}, repeatable=True, timeout=1)
KEYLESS = Call("POST", "/", {}, {}, repeatable=False, timeout=1)
LOG_ON = Call("POST", "/", {"service": "US_LogOn"}, {}, repeatable=False, timeout=1)


@pytest.mark.parametrize(
    ("call", "http", "body", "again"),
    [
        (CALL, 500, status(5003, 503), True),
        (KEYLESS, 500, status(5003, 503), False),
        (LOG_ON, 500, status(5003, 503), True),
        (CALL, 500, status(5002, 503), True),
        (KEYLESS, 500, status(5002, 503), False),
        (CALL, 429, status(4001, 429), True),
        (CALL, 500, status(5000, 500), False),
        (CALL, 500, status(5001, 502), False),
        (CALL, 400, status(3002, 409), False),
        (CALL, 429, None, True),
        (CALL, 502, None, True),
        (CALL, 503, None, True),
        (CALL, 504, None, True),
        (CALL, 500, None, False),
        (KEYLESS, 503, None, False),
        (CALL, 404, None, False),
    ],
)
def test_only_what_passes_and_is_safe_is_sent_again(call: Call, http: int, body: Any, again: bool) -> None:
    assert may_repeat(refusal(http, {}, body), http, call) is again


def test_a_retry_after_is_waited_for_and_a_long_one_is_raised() -> None:
    repeats = Repeats(tries=3, max_wait=60)
    assert repeats.wait_after(1, 7) == 7
    assert (repeats.wait_after(1, None) or 0) < 1
    assert repeats.wait_after(1, 61) is None
    assert repeats.wait_after(3, None) is None
    error = refusal(429, {"Retry-After": "3600", "X-Request-Id": "r-12345678"}, status(4000, 429))
    assert isinstance(error, LimitError)
    assert (error.retry_after, error.request_id, error.note) == (3600, "r-12345678", "No.")
    assert isinstance(refusal(500, {}, status(5000, 500)), GatewayError)
    assert isinstance(refusal(502, {}, "<html>"), UnexpectedAnswer)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7),
        (" 1.5", 1.5),
        ("Fri, 20 Nov 2026 10:00:07 GMT", 7),
        ("Friday, 20-Nov-26 10:00:07 GMT", 7),
        ("Fri Nov 20 10:00:07 2026", 7),
        ("Fri, 20 Nov 2026 09:59:00 GMT", 0),
        ("Fri, 32 Nov 2026 10:00:07 GMT", None),
        ("Fri, 20 Nov 99999999999 10:00:07 GMT", None),
        ("soon", None),
        ("-1", None),
        ("inf", None),
        ("", None),
    ],
)
def test_a_retry_after_is_a_number_of_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"Retry-After": value, "Date": "Fri, 20 Nov 2026 10:00:00 GMT"}) == seconds


def test_a_retry_after_with_a_date_counts_from_now_where_the_answer_has_none() -> None:
    assert retry_after({"Retry-After": "Fri, 20 Nov 2020 10:00:00 GMT"}) == 0
    assert (retry_after({"Retry-After": "Fri, 20 Nov 2999 10:00:00 GMT"}) or 0) > 1e10


@pytest.mark.parametrize(
    ("http", "said"),
    [
        (503, "a proxy that has no gateway"),
        (429, "a proxy that limits requests"),
        (404, "is this a gateway's address?"),
    ],
)
def test_the_error_tells_a_proxy_without_a_gateway_from_another_address(http: int, said: str) -> None:
    error = refusal(http, {}, "<html>")
    assert isinstance(error, UnexpectedAnswer)
    assert said in str(error)
