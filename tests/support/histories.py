"""Checks of what clients are told under faults: each keeps the history of one promise, and asks the nodes for it."""

import asyncio
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

import aiohttp

from actors.webhooks.schedule import MAX_OPEN
from tests.support.cluster import Nodes
from tests.support.gateway import BUS, Answer, Client
from tests.support.idempotent import keyed
from tests.support.load import MAYBE, OVERLOADED, STORAGE_UNAVAILABLE, UNKNOWN
from tests.support.operator import set_plan
from tests.support.receiver import Receiver, receiving
from tests.support.sharing import Two, with_a_bank
from tests.support.stored import reading
from tests.support.workspaces import Follower, Workspace, opened

SETTINGS: dict[str, Any] = {
    "PARLEY_WEBHOOKS_ALLOW_INSECURE": "true",
    "PARLEY_WEBHOOKS_RETRY_DELAYS_S": ",".join(["0.2"] * 60),
}
"""Of the gateways that the checks need."""

ENDED = 2001
LIMIT_REACHED = 4000
PAUSE_S = 0.03
"""Between two requests of a client, so that the clients leave the machine to the nodes."""
WITHIN_S = 90.0
"""The time in which everything is answered, delivered and read once a fault is over."""

GoesOn = Callable[[], bool]


class History(ABC):
    """One promise to clients, and all that they were told which it covers."""

    async def prepare(self) -> None:
        """Set up what the next fault needs, while all nodes are whole."""
        return

    @abstractmethod
    async def act(self, goes_on: GoesOn) -> None:
        """Send requests until `goes_on` ends; assert whatever has to hold at once."""

    @abstractmethod
    async def verify(self) -> None:
        """Assert, after a fault, that the nodes agree with everything that clients were told so far."""

    @abstractmethod
    def told(self) -> str:
        """Say in a few words what was covered so far."""


def not_now(answer: Answer) -> bool:
    """Whether an answer says neither that a request was carried out nor that it is refused for good."""
    status = answer.body.get("status") if isinstance(answer.body, dict) else None
    return isinstance(status, dict) and status["internal_code"] in (STORAGE_UNAVAILABLE, OVERLOADED)


def not_done(answer: Answer) -> bool:
    """Whether an answer says that a request was not carried out."""
    return not_now(answer) and MAYBE not in answer.note


async def tried(send: Callable[[], Awaitable[Answer]], patience_s: float = 60.0) -> Answer | None:
    """Send a request; return None if its client can't tell what came of it, or was told to come back."""
    try:
        async with asyncio.timeout(patience_s):
            answer = await send()
    except UNKNOWN:
        return None
    return None if not_now(answer) else answer


async def insisted(send: Callable[[], Awaitable[Answer]], patience: Callable[[], float] = lambda: 60.0) -> Answer:
    """Send a request again and again, until it is answered for good."""
    async with asyncio.timeout(WITHIN_S):
        while (answer := await tried(send, patience())) is None:
            await asyncio.sleep(PAUSE_S)
    return answer


def entries(all: Nodes, http: aiohttp.ClientSession, user: Client) -> list[Client]:
    """Return a client of each node that has not ended, also of one that is stopped or cut off."""
    return [Client(http, node.gateway.base, user.token, user.name) for node in all.live if node.gateway.base]


@dataclass
class Metered:
    """A user with a daily limit, and how many of its requests were served."""

    client: Client
    limit: int
    day: date
    served: int = 0


@dataclass
class Quotas(History):
    """Nobody is served more requests a day than its plan allows, and the stored count covers all that were served."""

    all: Nodes
    nobody: Client
    rng: random.Random
    users: list[Metered] = field(default_factory=list[Metered])
    refused: int = 0

    async def prepare(self) -> None:
        user = await self.nobody.register(f"metered-{len(self.users)}")
        limit = self.rng.choice([20, 60, 120])
        assert (await set_plan(self.nobody, user.name, "enterprise", limit=limit)).http == 200
        self.users.append(Metered(user, limit, today()))

    async def act(self, goes_on: GoesOn) -> None:
        newest, any = self.users[-1], self.rng.choice(self.users)
        await asyncio.gather(*(self._send(user, goes_on) for user in (newest, newest, newest, any)))

    async def _send(self, user: Metered, goes_on: GoesOn) -> None:
        while goes_on():
            await self._count(user)
            await asyncio.sleep(PAUSE_S)

    async def _count(self, user: Metered) -> Answer | None:
        answer = await tried(partial(user.client.command, "AP_List"))
        if answer is not None:
            assert answer.code in (0, LIMIT_REACHED), answer.body
            user.served += answer.code == 0
            self.refused += answer.code != 0
        return answer

    async def verify(self) -> None:
        newest = self.users[-1]
        async with asyncio.timeout(WITHIN_S):
            while (answer := await self._count(newest)) is None or answer.code == 0:
                pass
        async with reading(self.all.data) as fetch:
            rows = await fetch(
                "SELECT users.name, reserved FROM quota_windows JOIN users ON users.id = quota_windows.user_id"
            )
        stored: dict[str, int] = dict(rows)  # pyright: ignore[reportArgumentType]
        for user in (user for user in self.users if user.day == today()):
            name = user.client.name
            assert user.served <= user.limit, f"{name} was served {user.served} requests of {user.limit}"
            assert user.served <= stored[name] <= user.limit, f"{name}: {user.served} served, {stored[name]} stored"

    def told(self) -> str:
        return f"{sum(user.served for user in self.users)} served, {self.refused} beyond the limit"


def today() -> date:
    return datetime.now(UTC).date()


@dataclass
class Reader:
    """Follows a zone through any node, and comes back with the id of the last event that it had."""

    user: Client
    domain: str
    rng: random.Random
    last_id: str = "0"
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    connections: int = 0

    async def follow(self) -> None:
        """Read until cancelled."""
        while True:
            with suppress(*UNKNOWN):
                await self._follow_once(self.rng.randrange(5, 200))
            await asyncio.sleep(PAUSE_S)

    async def _follow_once(self, events: int) -> None:
        headers = self.user.headers({"Last-Event-ID": self.last_id})
        path, body = f"{self.user.base}{BUS}/zone/stream", {"target": {"domain": self.domain}}
        async with self.user.http.post(path, json=body, headers=headers) as response:
            if response.content_type != "text/event-stream":
                assert not_now(Answer(response.status, response.headers, await response.json()))
                return
            self.connections += 1
            follower = Follower(response)
            for _ in range(events):
                event = await follower.next()
                if event is None or "end" in event:
                    assert event in (None, {"end": "gateway stops"}), event
                    return
                assert int(follower.last_id) > int(self.last_id), f"{follower.last_id} after {self.last_id}"
                self.last_id = follower.last_id
                if event["type"] == "message":
                    self.messages.append(event["message"])


@dataclass
class Streams(History):
    """A stream of a zone, read on with Last-Event-ID through any node, has every message once, in order."""

    workspace: Workspace
    readers: list[Reader]
    acknowledged: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    refused: set[str] = field(default_factory=set[str])
    sent: int = 0

    async def act(self, goes_on: GoesOn) -> None:
        await asyncio.gather(*(self._post(user, goes_on) for user in (self.workspace.owner, self.workspace.guest)))

    async def _post(self, user: Client, goes_on: GoesOn) -> None:
        while goes_on():
            self.sent += 1
            answer = await tried(partial(self._post_once, user, f"post {self.sent}"))
            if answer is not None:
                (message, *_) = answer.ok().content
                self.acknowledged[message["seq"]] = message
            await asyncio.sleep(PAUSE_S)

    async def _post_once(self, user: Client, text: str) -> Answer:
        answer = await user.command("ZN_Post", target={"domain": self.workspace.domain}, content=text)
        if not_done(answer):
            self.refused.add(text)
        return answer

    async def verify(self) -> None:
        self.sent += 1
        text = f"the last of {self.sent}"
        body = {"target": {"domain": self.workspace.domain}, "content": text}
        last = await insisted(
            partial(self.workspace.guest.command, "ZN_Post", headers=keyed(f"last-{self.sent}"), **body)
        )
        (message, *_) = last.ok().content
        self.acknowledged[message["seq"]] = message
        async with asyncio.timeout(WITHIN_S):
            while any(not reader.messages or reader.messages[-1]["seq"] < message["seq"] for reader in self.readers):
                await asyncio.sleep(PAUSE_S)
        for reader in self.readers:
            seqs = [message["seq"] for message in reader.messages]
            assert seqs == list(range(1, len(seqs) + 1)), f"{reader.user.name} read {seqs}"
            for seq, message in self.acknowledged.items():
                assert reader.messages[seq - 1] == message
            assert self.refused.isdisjoint(message["content"] for message in reader.messages)

    def told(self) -> str:
        connections = sum(reader.connections for reader in self.readers)
        return (
            f"{len(self.acknowledged)} posts read by each of {len(self.readers)} readers, {connections} connections,"
            f" {len(self.refused)} posts refused as not done"
        )


@dataclass
class Kept:
    """An answered chat with a key."""

    client: Client
    body: dict[str, Any]
    answer: Any


@dataclass
class Keys(History):
    """A chat that is repeated with its key until it is answered is stored once, and its repeats get that answer."""

    all: Nodes
    chats: list[tuple[Client, str]]
    """Users, each with the name of an agent that it talks to: its own, or another user's."""
    rng: random.Random
    kept: dict[str, Kept] = field(default_factory=dict[str, Kept])
    new: list[str] = field(default_factory=list[str])
    sent: int = 0

    async def act(self, goes_on: GoesOn) -> None:
        await asyncio.gather(*(self._chat(client, agent, goes_on) for client, agent in self.chats))

    async def _chat(self, client: Client, agent: str, goes_on: GoesOn) -> None:
        while goes_on():
            self.sent += 1
            key, body = f"keyed-{self.sent}", {"target": {"agent": agent}, "content": f"keyed-{self.sent}"}
            answer = await insisted(partial(client.command, "AP_Chat", headers=keyed(key), **body), self._patience)
            self.kept[key] = Kept(client, body, answer.ok().body)
            self.new.append(key)
            if self.rng.random() < 0.3:
                await self._repeat(key)
            await asyncio.sleep(PAUSE_S)

    def _patience(self) -> float:
        return self.rng.choice([0.005, 0.05, 60.0])

    async def _repeat(self, key: str) -> None:
        kept = self.kept[key]
        again = await insisted(partial(kept.client.command, "AP_Chat", headers=keyed(key), **kept.body))
        assert again.body == kept.answer, f"{key} was answered {kept.answer}, then {again.body}"
        assert again.headers["Idempotency-Replayed"] == "true"

    async def verify(self) -> None:
        for key in self.rng.sample(self.new, min(len(self.new), 20)):
            await self._repeat(key)
        async with reading(self.all.data) as fetch:
            rows = await fetch("SELECT content FROM messages WHERE role = 'user' AND content LIKE 'keyed-%'")
        stored = Counter(content for (content,) in rows)
        assert stored == Counter(self.kept.keys()), (
            f"not once: {stored - Counter(self.kept)} {Counter(self.kept) - stored}"
        )
        self.new.clear()

    def told(self) -> str:
        return f"{len(self.kept)} chats with keys"


@dataclass
class Webhooks(History):
    """Every stored event reaches every endpoint at least once, and a fault doubles at most 32 of an endpoint."""

    all: Nodes
    user: Client
    receivers: list[Receiver]
    acknowledged: set[str] = field(default_factory=set[str])
    doubles: dict[str, int] = field(default_factory=dict[str, int])
    sent: int = 0

    async def act(self, goes_on: GoesOn) -> None:
        await asyncio.gather(*(self._emit(goes_on) for _ in range(3)))

    async def _emit(self, goes_on: GoesOn) -> None:
        while goes_on():
            self.sent += 1
            body = {"event_type": "webhook.test", "data": {"n": self.sent}}
            answer = await tried(partial(self.user.request, "POST", "/api/webhooks/test", json=body))
            if answer is not None:
                assert (answer.http, answer.body["deliveries"]) == (202, len(self.receivers)), answer.body
                self.acknowledged.add(answer.body["event_id"])
            await asyncio.sleep(PAUSE_S)

    async def verify(self) -> None:
        async with reading(self.all.data) as fetch, asyncio.timeout(WITHIN_S):
            while (await fetch("SELECT count(*) FROM deliveries WHERE due IS NOT NULL"))[0][0]:
                await asyncio.sleep(0.1)
            stored = {id for (id,) in await fetch("SELECT id FROM events WHERE type = 'webhook.test'")}
        assert self.acknowledged <= stored
        for receiver in self.receivers:
            got = Counter(received.delivery_id for received in receiver.received)
            missing = stored - {received.event["id"] for received in receiver.received}
            assert not missing, f"{len(missing)} of {len(stored)} stored events never reached {receiver.url}"
            doubles, before = got.total() - len(got), self.doubles.get(receiver.url, 0)
            assert doubles - before <= MAX_OPEN, f"{doubles - before} doubles at {receiver.url}"
            self.doubles[receiver.url] = doubles

    def told(self) -> str:
        return (
            f"{len(self.acknowledged)} events to {len(self.receivers)} endpoints, {sum(self.doubles.values())} doubles"
        )


@dataclass
class Revocations(History):
    """A key is refused by every node from the answer to its revocation on."""

    all: Nodes
    user: Client
    http: aiohttp.ClientSession
    revoked: list[str] = field(default_factory=list[str])
    refused: int = 0

    async def act(self, goes_on: GoesOn) -> None:
        while goes_on():
            name = f"key-{len(self.revoked)}"
            make = partial(
                self.user.request, "POST", "/api/api-keys", json={"name": name}, headers=keyed(f"make-{name}")
            )
            made = await insisted(make)
            assert made.http == 201, made.body
            held = self.user.as_user(made.body["key"], self.user.name)
            await asyncio.gather(*(tried(partial(at.command, "US_Read"), 1) for at in self._entries(held)))
            path = f"/api/api-keys/{made.body['id']}"
            gone = await insisted(partial(self.user.request, "DELETE", path))
            assert gone.http in (204, 404), gone.body  # 404: an earlier try in doubt has done it
            await asyncio.gather(*(self._try(at) for at in self._entries(held)))
            self.revoked.append(made.body["key"])
            await asyncio.sleep(PAUSE_S)

    def _entries(self, held: Client) -> list[Client]:
        return entries(self.all, self.http, held)

    async def _try(self, entry: Client) -> None:
        answer = await tried(partial(entry.command, "US_Read"))
        if answer is not None:
            assert answer.code == ENDED, f"a revoked key was served through {entry.base}: {answer.body}"
            self.refused += 1

    async def verify(self) -> None:
        for key in self.revoked[-10:]:
            for entry in self._entries(self.user.as_user(key)):
                assert (await insisted(partial(entry.command, "US_Read"))).code == ENDED

    def told(self) -> str:
        return f"{len(self.revoked)} keys revoked, {self.refused} uses refused at once"


@dataclass
class Censored(History):
    """A censored word is in no answer of any node from the answer to its censoring on."""

    all: Nodes
    two: Two
    http: aiohttp.ClientSession
    gone: list[str] = field(default_factory=list[str])
    quoted: int = 0
    checked: int = 0

    async def act(self, goes_on: GoesOn) -> None:
        number = len(self.gone)
        while goes_on():
            number += 1
            word, memory = f"xylo{number}phone", f"memory-{number}"
            await self._change("MB_Load", memory, content=f"The password of vault {number} is {word}.")
            for at in entries(self.all, self.http, self.two.guest):
                answer = await tried(self._quote(at, number), 2)
                self.quoted += answer is not None and word in str(answer.body)
            await self._change("MB_Censor", memory)
            self.gone.append(word)
            await asyncio.gather(*(self._look(at, number) for at in entries(self.all, self.http, self.two.guest)))
            await asyncio.sleep(PAUSE_S)

    async def _change(self, service: str, memory: str, **more: str) -> None:
        body: dict[str, Any] = {"target": {"bank": self.two.bank}, "vx": {"name": memory}} | more
        key = keyed(f"{service}-{memory}")
        (await insisted(partial(self.two.owner.command, service, headers=key, **body))).ok()

    def _question(self, number: int) -> dict[str, Any]:
        return {"target": {"agent": self.two.visitor}, "content": f"What is the password of vault {number}?"}

    def _quote(self, entry: Client, number: int) -> Callable[[], Awaitable[Answer]]:
        """Return a chat with a key, whose answer is kept and quotes the word until it is censored."""
        key = keyed(f"quote-{number}-{entry.base}")
        return partial(entry.command, "AP_Chat", headers=key, **self._question(number))

    async def _look(self, entry: Client, number: int) -> None:
        there = {"target": {"agent": self.two.visitor}}
        sends = (
            self._quote(entry, number),
            partial(entry.command, "AP_History", page={"limit": 200}, **there),
            partial(entry.command, "AP_Chat", **self._question(number)),
        )
        for send in sends:
            before = list(self.gone)
            answer = await tried(send)
            if answer is not None:
                found = [word for word in before if word in str(answer.ok().body)]
                assert not found, f"{found} through {entry.base} after it was censored: {answer.body}"
                self.checked += 1

    async def verify(self) -> None:
        for entry in entries(self.all, self.http, self.two.guest):
            await self._look(entry, len(self.gone))
        async with reading(self.all.data) as fetch:
            texts = await fetch("SELECT content FROM messages WHERE content LIKE '%xylo%'")
        assert texts == []

    def told(self) -> str:
        return (
            f"{len(self.gone)} words censored of which {self.quoted} quotes were made, {self.checked} answers without"
        )


@asynccontextmanager
async def watching(all: Nodes, seed: int) -> AsyncIterator[list[History]]:
    """Set up every check over some nodes; a reader's failure ends the body."""
    rng = random.Random(seed)
    async with (
        all.client() as nobody,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as http,
        receiving() as first,
        receiving() as second,
        asyncio.TaskGroup() as group,
    ):

        async def users(*names: str) -> list[Client]:
            return [await nobody.register(name) for name in names]

        host, member = await users("host", "member")
        workspace = await opened(host, member, "observatory")
        readers = [Reader(user, workspace.domain, rng) for user in (workspace.owner, workspace.guest)]
        one, other = await users("keyed-one", "keyed-other")
        await one.agent("keyed-agent", access="public")
        notified, keyholder = await users("notified", "keyholder")
        for receiver in (first, second):
            body = {"url": receiver.url, "events": ["webhook.test"]}
            assert (await notified.request("POST", "/api/webhooks/endpoints", json=body)).http == 201
        librarian, borrower = await users("librarian", "borrower")
        two = await with_a_bank(librarian, borrower, "censored")
        await two.share("read")
        reading = [group.create_task(reader.follow()) for reader in readers]
        yield [
            Quotas(all, nobody, rng),
            Streams(workspace, readers),
            Keys(all, [(one, "keyed-agent"), (other, "keyed-agent")], rng),
            Webhooks(all, notified, [first, second]),
            Revocations(all, keyholder, http),
            Censored(all, two, http),
        ]
        for task in reading:
            task.cancel()
