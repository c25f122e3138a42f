"""An Idempotency-Key is decided by the store: two gateways that execute the same key at once store one change."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import orjson
import pytest

from actors.calls.call import Answer
from actors.core import Core, CoreOptions
from actors.engines.recall import RecallEngine
from actors.errors import ServiceError, StateConflict
from actors.idempotency.once import Done, Execution, Idempotency
from actors.idempotency.records import KEPT_MS, IdempotencyKey, Receipt, Rendered
from actors.sealing import Sealer
from persistence import agents, audit, users
from persistence.agents import AgentRow
from persistence.idempotency_records import IdempotencyRow, keep
from persistence.store import Store, StoreUnavailable, Unit, Write
from persistence.users import UserRow
from routes.bus.bus import CommandBus
from routes.bus.request import BusRequest
from routes.http.access_log import AccessLog
from routes.http.answers import REPLAYED, HttpAnswer
from routes.http.background import BackgroundTasks
from routes.http.exchange import Exchange
from routes.http.internal_auth import InternalAuth
from routes.http.metrics import RequestMetrics
from tests.support.disk import Disk, rows, value
from tests.support.stores import upgraded

NOW = 10 * KEPT_MS
USER = UserRow("usr_1", "ada", None, None, "hash", "free", None, 0)
AGENT = AgentRow("agt_1", "usr_1", "ada", "scout", "finds things out", None, "agent", True, 0, 0)


class Node:
    """One of several stores of idempotency records over the same database."""

    def __init__(self, store: Store, now: int = NOW) -> None:
        self.store = store
        self.idempotency = Idempotency(store, Sealer(bytes(32)), lambda: now)

    def key(self, sent: bytes = b"a" * 32, name: str = "the-key") -> IdempotencyKey:
        return self.idempotency.key("ses_1", "usr_1", name, sent)

    async def once(
        self, change: Callable[[Receipt], Awaitable[None]], sent: bytes = b"a" * 32, name: str = "the-key"
    ) -> Done:
        async def run(receipt: Receipt, resumes: str | None) -> Answer:
            await change(receipt)
            return Answer()

        return await self.idempotency.once(
            self.key(sent, name), None, Execution(run, nothing, answered, failed, redacted)
        )

    async def store_change(self, receipt: Receipt, name: str) -> None:
        """Store a change that only the key can refuse."""
        receipt.make = lambda _: Answer(content=[{"by": name}])
        entry = audit.insert("usr_1", NOW, "ses_1", "", name, "{}", 0, "")
        await self.store.commit(Unit((entry, *receipt.writes(None))))


async def nothing() -> None:
    pass


def answered(answer: Answer) -> Rendered:
    return Rendered(200, orjson.dumps(answer.content))


def failed(error: ServiceError) -> Rendered:
    return Rendered(error.http_code, orjson.dumps({"status": {"internal_code": error.internal_code}}))


def redacted() -> Rendered:
    return Rendered(200, b"redacted")


@pytest.fixture
async def store(store: Store) -> Store:
    await store.commit(Unit((users.insert(USER),)))
    return store


async def changes(store: Store) -> list[str]:
    return [row[0] for row in await rows(store, "SELECT service FROM audit ORDER BY place")]


async def test_two_executions_at_the_same_time_store_one_change_and_answer_alike(store: Store):
    both_run = asyncio.Barrier(2)

    async def carried_out_on(name: str) -> Done:
        node = Node(store)

        async def change(receipt: Receipt) -> None:
            await both_run.wait()  # both have found no answer by now
            await node.store_change(receipt, name)

        return await node.once(change)

    first, second = await asyncio.gather(carried_out_on("one"), carried_out_on("two"))
    assert len(await changes(store)) == 1
    assert first.rendered == second.rendered
    assert {first.replayed, second.replayed} == {True, False}


async def test_an_answer_kept_after_its_change_is_the_first_one_s(store: Store):
    both_run = asyncio.Barrier(2)

    async def refused_on(note: str) -> Done:
        async def change(receipt: Receipt) -> None:
            await both_run.wait()
            raise StateConflict(note)

        return await Node(store).once(change)

    first, second = await asyncio.gather(refused_on("one"), refused_on("two"))
    assert first.rendered == second.rendered
    assert {first.replayed, second.replayed} == {True, False}
    assert first.internal_code == second.internal_code == StateConflict.internal_code
    assert await value(store, "SELECT count(*) FROM kept_answers") == 1


async def test_an_answer_is_redacted_if_what_it_shows_is_destroyed_before_it_is_kept(store: Store):
    await store.commit(Unit((agents.insert(AGENT),)))
    node = Node(store)

    async def run(receipt: Receipt, resumes: str | None) -> Answer:
        await store.commit(Unit(agents.destroy(AGENT.id, NOW)))
        return Answer(content=[{"description": AGENT.description}], shows=(AGENT.id,))

    execution = Execution(run, nothing, answered, failed, redacted)
    first = await node.idempotency.once(node.key(), None, execution)
    assert AGENT.description.encode() in first.rendered.body
    again = await node.idempotency.once(node.key(), None, execution)
    assert (again.rendered.body, again.replayed) == (b"redacted", True)


async def test_an_answer_that_an_earlier_version_kept_is_found(store: Store):
    key = Node(store).key()
    row = IdempotencyRow(key.fingerprint, 200, key.sealer.seal(b"[]", f"answer ses_1 {key.digest.hex()}"), None)
    await store.commit(Unit((keep("ses_1", key.digest, "usr_1", NOW, NOW - KEPT_MS, row),)))

    done = await Node(store).once(not_again)
    assert (done.rendered.body, done.replayed) == (b"[]", True)


KEEP_BEFORE = (
    "INSERT INTO kept_answers"
    " (credential_id, key_hash, user_id, fingerprint, at, status, answer, message_id, conversation_id)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
    " ON CONFLICT (credential_id, key_hash) DO UPDATE SET user_id = excluded.user_id,"
    " fingerprint = excluded.fingerprint, at = excluded.at, status = excluded.status, answer = excluded.answer,"
    " message_id = excluded.message_id, conversation_id = excluded.conversation_id"
)
"""Keeps an answer as versions did that noted nothing of what it shows."""


def kept_before(key: IdempotencyKey, status: int = 200, conversation: int | None = None) -> Write:
    answer = key.sealer.seal(FAILED if status >= 400 else b"[]", f"answer ses_1 {key.digest.hex()}")
    params = ("ses_1", key.digest, "usr_1", key.stored_fingerprint, NOW, status, answer, None, conversation)
    return Write(KEEP_BEFORE, params)


FAILED = orjson.dumps({"status": {"internal_code": 3002}})
KEPT_BEFORE = {
    "a creation": (200, None, b"redacted"),
    "a creation by a route": (201, None, b"redacted"),
    "an acceptance": (202, None, b"[]"),
    "a refusal": (409, None, FAILED),
    "a private chat": (200, 7, b"[]"),
}
"""Answers by what they show: status, conversation, and the body of a repeat."""


async def not_again(receipt: Receipt) -> None:
    raise AssertionError("it was carried out before")


async def test_answers_that_older_versions_kept_without_notes_are_redacted_by_the_upgrade(tmp_path: Path):
    made = Idempotency(cast(Store, None), Sealer(bytes(32)), lambda: NOW)
    keys = {name: made.key("ses_1", "usr_1", name, b"a" * 32) for name in KEPT_BEFORE}
    stored = [kept_before(keys[name], status, number) for name, (status, number, _) in KEPT_BEFORE.items()]
    store = await upgraded(tmp_path / "old.db", "unnoted_answers", *stored)
    try:
        await require_repeats(store)
        left = await rows(store, "SELECT key_hash FROM kept_answers WHERE answer IS NOT NULL")
        whole = {keys[name].digest for name, (*_, body) in KEPT_BEFORE.items() if body != b"redacted"}
        assert {bytes(digest) for (digest,) in left} == whole
        assert await value(store, "SELECT due FROM erasure") == 1
    finally:
        await store.close()


async def test_answers_that_an_older_node_keeps_meanwhile_count_as_redacted(store: Store):
    node = Node(store)
    for name, (status, conversation, _) in KEPT_BEFORE.items():
        await store.commit(Unit((kept_before(node.key(name=name), status, conversation),)))
    await require_repeats(store)


async def test_an_older_node_s_answer_is_not_noted_because_an_earlier_one_of_its_key_was(store: Store):
    earlier = Node(store, NOW - KEPT_MS - 1)
    await earlier.once(lambda receipt: earlier.store_change(receipt, "earlier"))
    await store.commit(Unit((kept_before(earlier.key()),)))
    assert (await Node(store).once(not_again)).rendered.body == b"redacted"


async def require_repeats(store: Store) -> None:
    """Require that no repeat of the keys of `KEPT_BEFORE` is carried out, and that each has its status and body."""
    for name, (status, _, body) in KEPT_BEFORE.items():
        done = await Node(store).once(not_again, name=name)
        assert done.rendered == Rendered(200 if body == b"redacted" else status, body), name
        assert done.replayed


async def test_another_request_with_the_key_is_refused_however_close_it_comes(store: Store):
    both_run = asyncio.Barrier(2)

    async def carried_out_on(name: str, sent: bytes) -> Done:
        node = Node(store)

        async def change(receipt: Receipt) -> None:
            await both_run.wait()
            await node.store_change(receipt, name)

        return await node.once(change, sent)

    ended = await asyncio.gather(
        carried_out_on("one", b"1" * 32), carried_out_on("two", b"2" * 32), return_exceptions=True
    )
    assert len(await changes(store)) == 1
    assert [type(end) for end in ended if not isinstance(end, Done)] == [StateConflict]


async def test_a_chat_that_two_begin_stores_one_message(store: Store):
    keys = [Node(store).key(), Node(store).key()]
    ended: list[Exception | None] = []
    for name, key in zip(("one", "two"), keys, strict=True):
        message = audit.insert("usr_1", NOW, "ses_1", "", name, "{}", 0, "")
        try:
            await store.commit(Unit((message, key.begin(f"msg_{name}"))))
        except StoreUnavailable as error:
            ended.append(error)
        await store.commit(Unit((keys[0].begin("msg_one"),)))  # the same one again is no other execution
    assert len(ended) == 1
    assert await changes(store) == ["one"]


async def test_an_answer_of_yesterday_gives_way(store: Store):
    for now in (NOW, NOW + KEPT_MS + 1):
        node = Node(store, now)
        done = await node.once(lambda receipt, node=node: node.store_change(receipt, "again"))
        assert not done.replayed
    assert await changes(store) == ["again", "again"]


class Gateway:
    """A core with its command bus, one of two over the same store."""

    def __init__(self, store: Store) -> None:
        self.core = Core(store, RecallEngine(), Sealer(bytes(32)), CoreOptions())
        exchange = Exchange(self.core, RequestMetrics(), AccessLog(None), (), 1_000_000, BackgroundTasks())
        self.bus = CommandBus(exchange, InternalAuth(None))

    async def send(self, service: str, token: str | None = None, key: str | None = None, **body: object) -> HttpAnswer:
        headers = {"authorization": f"Bearer {token}" if token else None, "idempotency-key": key}
        sent = {name: text for name, text in headers.items() if text is not None}
        request = BusRequest(sent.get, "request-1", "192.0.2.1", orjson.dumps({"service": service, **body}))
        answer = await self.bus.serve(request, None)
        assert answer is not None
        return answer


@asynccontextmanager
async def two_gateways(store: Store) -> AsyncIterator[tuple[Gateway, Gateway]]:
    gateways = Gateway(store), Gateway(store)
    yield gateways
    for gateway in gateways:
        await gateway.core.directory.close(1)
        gateway.core.hasher.close()


async def test_a_chat_with_a_key_at_two_gateways_is_stored_once(store: Store, disk: Disk):
    async with two_gateways(store) as (one, two):
        name, secret = "lovelace", "correct horse battery"
        await one.send("US_Create", vx={"name": name, "secret": secret})
        logged_on = orjson.loads((await one.send("US_LogOn", target={"user": name}, vx={"secret": secret})).body)
        token = logged_on["content"][0]["token"]
        agent = {"name": "scout", "description": "d"}
        assert (await one.send("AP_Create", token, vx=agent)).status == 200
        assert (await one.send("AP_LogOn", token, target={"agent": "scout"})).status == 200
        for gateway in (one, two):  # each has the session, the quota and the agent at hand
            assert (await gateway.send("AP_Read", token, target={"agent": "scout"})).status == 200

        disk.hold()
        chat = {"target": {"agent": "scout"}, "content": "Hello"}
        first = asyncio.create_task(one.send("AP_Chat", token, "the-key", **chat))
        await disk.reached()
        second = asyncio.create_task(two.send("AP_Chat", token, "the-key", **chat))
        await asyncio.sleep(0.2)
        assert not second.done()
        disk.let_go()
        answers = await asyncio.gather(first, second)

        assert [answer.status for answer in answers] == [200, 200]
        assert await value(store, "SELECT count(*) FROM messages") == 2  # one question, one reply
        assert answers[0].body == answers[1].body
        # either may come to the disk first, for other rows than the chats' are on the way to it, too
        assert sorted(REPLAYED in answer.headers for answer in answers) == [False, True]
        repeat = await two.send("AP_Chat", token, "the-key", **chat)
        assert (repeat.body, REPLAYED in repeat.headers) == (answers[0].body, True)
        again = await two.send("AP_Chat", token, "another-key", **chat)  # the agent there has loaded itself anew
        assert orjson.loads(again.body)["content"][0]["seq"] == 3


def test_the_notes_of_an_answer_are_as_many_statements_however_many_memories_it_quotes():
    key = Idempotency(cast(Store, None), Sealer(bytes(32)), lambda: NOW).key("ses_1", "usr_1", "the-key", bytes(32))
    few, many = (key.keep(Rendered(200, b"{}"), Answer(quoted=tuple(range(count)))) for count in (1, 250))
    assert len(few) == len(many)
