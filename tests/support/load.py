"""Clients that chat with agents and change them, and that record all acknowledged changes."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import aiohttp

from tests.support.gateway import PASSWORD, Answer, Client, GatewayProcess
from tests.support.stored import reading
from tests.support.stores import ON_POSTGRES

OFFLINE = 3002
STORAGE_UNAVAILABLE = 5002
OVERLOADED = 5003
NOT_CARRIED_OUT = {OFFLINE, STORAGE_UNAVAILABLE, OVERLOADED}

AVAILABLE_S = 60.0
"""A storage that is away for longer than this does not come back."""

MAYBE = "may have been carried out"
"""In the note of an answer by a gateway that can't tell."""

UNKNOWN = (aiohttp.ClientError, ConnectionError, TimeoutError)
"""Errors of a client when the gateway is gone; its command may or may not have been carried out."""


class Served(Protocol):
    """A gateway, or several nodes of one."""

    @property
    def data(self) -> Path: ...

    def client(self) -> AbstractAsyncContextManager[Client]: ...


class InDoubt(ConnectionError):
    """The gateway can't tell whether it carried a command out."""


def told(answer: Answer) -> Answer:
    """Return an answer that says what came of a command; raise `InDoubt` for one that does not."""
    if answer.code == OVERLOADED and MAYBE in answer.note:
        raise InDoubt(answer.note)
    return answer


@dataclass
class Known:
    """A value as last acknowledged, and the possible value of a command in progress."""

    value: Any
    maybe: Any = None
    in_doubt: bool = False

    def may_be(self, shown: Any) -> bool:
        return shown == self.value or (self.in_doubt and shown == self.maybe)

    def settle(self, shown: Any) -> None:
        """Take the gateway's value as acknowledged."""
        self.value, self.maybe, self.in_doubt = shown, None, False


@dataclass
class Talk:
    """One user's conversation with one agent: acknowledged messages in order, and one in doubt."""

    client: Client
    agent: str
    acknowledged: list[tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    in_doubt: str | None = None
    sent: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    """Texts with the code of their error, which must not have been stored."""

    async def chat(self, rng: random.Random) -> Answer:
        """Send a new message; record it with its reply."""
        self.sent += 1
        said = f"{self.client.name} to {self.agent}: note {self.sent}, the {rng.choice(THINGS)} is {rng.choice(HUES)}"
        self.in_doubt = said
        answer = told(await self.client.command("AP_Chat", target={"agent": self.agent}, content=said))
        self.in_doubt = None
        if answer.code == 0:
            message, reply = answer.content
            assert (message["content"], message["role"], reply["role"]) == (said, "user", "agent")
            self.acknowledged.append((message, reply))
        else:
            assert answer.code in NOT_CARRIED_OUT, answer.body
            self.refused[said] = answer.code
        return answer

    async def history(self, rng: random.Random) -> list[dict[str, Any]]:
        """Read the whole conversation, page by page."""
        limit, messages, cursor = rng.choice([7, 50, 200]), list[dict[str, Any]](), None
        while True:
            page = {"limit": limit} | ({"cursor": cursor} if cursor else {})
            answer = await answered(
                lambda page=page: self.client.command("AP_History", target={"agent": self.agent}, page=page)
            )
            messages[:0] = answer.ok().content
            cursor = answer.next
            if cursor is None:
                return messages
            limit = 200

    async def count(self) -> int:
        """Return the number of the user's messages with the agent, as the gateway counts them."""
        answer = await answered(lambda: self.client.command("AP_Read", target={"agent": self.agent}))
        return answer.ok().content[0]["messages"]

    async def verify(self, rng: random.Random) -> int:
        """Assert that the history holds the acknowledged messages once and in order; return its length.

        A chat in doubt must be stored fully or not at all, and is decided by this.
        """
        history = await self.history(rng)
        sequence = [message["seq"] for message in history]
        assert sequence == list(range(1, len(history) + 1)), f"{self.agent} counts {sequence}"
        expected = [message for pair in self.acknowledged for message in pair]
        stored, rest = history[: len(expected)], history[len(expected) :]
        for shown, message in zip_longest(stored, expected):
            assert shown == message, f"acknowledged was {message}, shown is {shown}, refused was {self.refused}"
        if rest:
            assert self.in_doubt is not None, f"messages that nobody sent: {rest}"
            assert [message["role"] for message in rest] == ["user", "agent"]
            assert rest[0]["content"] == self.in_doubt
            self.acknowledged.append((rest[0], rest[1]))
        self.in_doubt = None
        return len(history)


THINGS = ("dog", "boat", "garden", "violin", "letter", "harbour", "clock")
HUES = ("red", "old", "lost", "ours", "loud", "blue", "new")


@dataclass
class Owner:
    """An agent's owner: chats with it, logs it on and off, describes it anew, selects this or another."""

    talk: Talk
    others: list[str]
    online: Known
    description: Known
    selected: Known
    changes: int = 0

    @property
    def client(self) -> Client:
        return self.talk.client

    @property
    def agent(self) -> str:
        return self.talk.agent

    async def act(self, rng: random.Random) -> None:
        """Take one action, mostly a chat."""
        kind = rng.random()
        if not self.online.value or kind < 0.08:
            await self._set_online(not self.online.value)
        elif kind < 0.16:
            await self._describe()
        elif kind < 0.24:
            await self._select(rng.choice(self.others))
        else:
            answer = await self.talk.chat(rng)
            assert answer.code != OFFLINE, f"{self.agent} was logged on, then it is offline: {answer.body}"

    async def _set_online(self, online: bool) -> None:
        service = "AP_LogOn" if online else "AP_LogOff"
        answer = await self._change(self.online, online, service, target={"agent": self.agent})
        if answer.code == 0:
            assert answer.profile[0]["state"] == ("online" if online else "offline")

    async def _describe(self) -> None:
        text = f"{self.agent}, described for the {self.changes}. time"
        answer = await self._change(
            self.description, text, "AP_Modify", target={"agent": self.agent}, vx={"description": text}
        )
        if answer.code == 0:
            assert answer.profile[0]["description"] == text

    async def _select(self, agent: str) -> None:
        answer = await self._change(self.selected, agent, "AP_Select", target={"agent": agent})
        if answer.code == 0:
            assert answer.context["agent"] == agent

    async def _change(self, known: Known, value: Any, service: str, **body: Any) -> Answer:
        self.changes += 1
        known.maybe, known.in_doubt = value, True
        answer = told(await self.client.command(service, **body))
        if answer.code == 0:
            known.settle(value)
        else:
            assert answer.code in NOT_CARRIED_OUT, answer.body
            known.settle(known.value)
        return answer

    async def verify(self) -> int:
        """Assert that the agent is as acknowledged; return the number of its messages."""
        answer = (await answered(lambda: self.client.command("AP_Read", target={"agent": self.agent}))).ok()
        (record,), (standing,) = answer.profile, answer.content
        shown = {
            "online": record["state"] == "online",
            "description": record["description"],
            "selected": answer.context["agent"],
        }
        assert standing["state"] == record["state"]
        for what, value in shown.items():
            known: Known = getattr(self, what)
            assert known.may_be(value), f"{what} of {self.agent} is {value!r}; acknowledged was {known}"
            known.settle(value)
        return standing["messages"]


@dataclass
class Crowd:
    """All clients of a test: an owner and a visitor for each agent."""

    owners: list[Owner]
    visitors: list[Talk]
    rng: random.Random
    http: aiohttp.ClientSession

    @property
    def talks(self) -> list[Talk]:
        return [owner.talk for owner in self.owners] + self.visitors

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged messages so far, replies included."""
        return sum(2 * len(talk.acknowledged) for talk in self.talks)

    def meet(self, gateway: GatewayProcess) -> None:
        """Send everything to the gateway's new address."""
        for talk in self.talks:
            talk.client.base = gateway.base

    async def act(self, goes_on: Callable[[], bool]) -> int:
        """Run all clients at once until the gateway is gone or `goes_on` ends; return the number of those cut off."""
        cut_off = 0

        async def until_cut_off(step: Callable[[], Awaitable[Any]]) -> None:
            nonlocal cut_off
            while goes_on():
                try:
                    await step()
                except UNKNOWN:
                    cut_off += 1
                    return

        steps = [lambda owner=owner: owner.act(self.rng) for owner in self.owners]
        visits = [lambda talk=talk: self._visit(talk) for talk in self.visitors]
        await asyncio.gather(*(until_cut_off(step) for step in [*steps, *visits]))
        return cut_off

    async def _visit(self, talk: Talk) -> None:
        await talk.chat(self.rng)
        await asyncio.sleep(self.rng.random() / 50)

    async def verify(self) -> None:
        """Assert that the gateway shows everything acknowledged, once and in order."""

        async def check(owner: Owner, visitor: Talk) -> None:
            counts = await owner.verify(), await visitor.count()
            lengths = await owner.talk.verify(self.rng), await visitor.verify(self.rng)
            assert counts == lengths, f"{owner.agent} counts {counts} messages of its users, who have {lengths}"

        await asyncio.gather(*map(check, self.owners, self.visitors))


async def answered(send: Callable[[], Awaitable[Answer]]) -> Answer:
    """Send a command until the storage is available; return its answer."""
    until = monotonic() + AVAILABLE_S
    while True:
        answer = await send()
        if answer.code not in (STORAGE_UNAVAILABLE, OVERLOADED):
            return answer
        assert monotonic() < until, f"all tries failed, the last with {answer.body}"
        await asyncio.sleep(0.01)


async def log_on(nobody: Client, name: str, at_once: asyncio.Semaphore) -> Client:
    """Log on a user, with repeats; `at_once` limits log-ons, because more than 30 at a time count as an attack."""
    async with at_once:
        logged_on = await answered(lambda: nobody.command("US_LogOn", target={"user": name}, vx={"secret": PASSWORD}))
    return Client(nobody.http, nobody.base, logged_on.ok().content[0]["token"], name)


@asynccontextmanager
async def crowd(gateway: Served, agents: int, seed: int) -> AsyncIterator[Crowd]:
    """Register users with public agents, and one visitor for each agent."""
    async with AsyncExitStack() as stack:
        nobody = await stack.enter_async_context(gateway.client())
        per_user = 5
        at_once = asyncio.Semaphore(4)
        names = [f"owner-{number}" for number in range(-(-agents // per_user))]

        async def register(name: str) -> Client:
            vx = {"name": name, "secret": PASSWORD}
            (await answered(lambda: nobody.command("US_Create", vx=vx))).ok()
            return await log_on(nobody, name, at_once)

        visitors = await asyncio.gather(*(register(f"visitor-{number}") for number in range(len(names))))
        registered = await asyncio.gather(*(register(name) for name in names))
        owners: list[Owner] = []
        talks: list[Talk] = []

        async def settle_in(number: int) -> None:
            first = registered[number // per_user]
            mine = [f"agent-{at}" for at in range(agents) if at // per_user == number // per_user]
            name = f"agent-{number}"
            vx = {"name": name, "description": "new", "access": "public"}
            (await answered(lambda: first.command("AP_Create", vx=vx))).ok()
            (await answered(lambda: first.command("AP_LogOn", target={"agent": name}))).ok()
            client = await log_on(nobody, first.name, at_once)
            (await answered(lambda: client.command("AP_Select", target={"agent": name}))).ok()
            owners.append(Owner(Talk(client, name), mine, Known(True), Known("new"), Known(name)))
            talks.append(Talk(visitors[number // per_user], name))

        await asyncio.gather(*(settle_in(number) for number in range(agents)))
        yield Crowd(owners, talks, random.Random(seed), nobody.http)


async def verify_rows(gateway: Served, crowd: Crowd) -> int:
    """Assert that the database holds everything acknowledged, with counts that equal its rows; return their number."""
    async with reading(gateway.data) as fetch:
        if not ON_POSTGRES:
            assert await fetch("PRAGMA integrity_check") == [("ok",)]
            assert await fetch("PRAGMA foreign_key_check") == []
        drifted = await fetch(
            "SELECT conversations.id, count(seq), max(seq), count(DISTINCT messages.id)"
            " FROM conversations LEFT JOIN messages ON conversation_id = conversations.id"
            " GROUP BY conversations.id HAVING max(seq) <> count(seq) OR min(seq) <> 1"
            " OR count(DISTINCT messages.id) <> count(seq)"
        )
        assert drifted == []
        stored = {
            id: (agent, user, seq, content)
            for id, agent, user, seq, content in await fetch(
                "SELECT messages.id, agents.name, users.name, seq, content FROM messages"
                " JOIN conversations ON conversations.id = conversation_id"
                " JOIN agents ON agents.id = agent_id JOIN users ON users.id = user_id"
            )
        }
        assert len(stored) == (await fetch("SELECT count(*) FROM messages"))[0][0]
        for talk in crowd.talks:
            for message in (message for pair in talk.acknowledged for message in pair):
                expected = (talk.agent, talk.client.name, message["seq"], message["content"])
                assert stored[message["id"]] == expected
        for owner in crowd.owners:
            (shown,) = await fetch("SELECT online, description FROM agents WHERE name = ?", owner.agent)
            assert owner.online.may_be(bool(shown[0]))
            assert owner.description.may_be(shown[1])
        return len(stored)
