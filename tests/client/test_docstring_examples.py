"""Each example of the client's docstrings runs against the gateway, asynchronous and synchronous."""

import ast
import asyncio
import doctest
import inspect
import re
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Any, get_type_hints

import pytest

import parley_client.webhooks
from clients.generator.services import FILES
from parley_client import AccessError, AsyncParley, Parley
from tests.support.client_world import PASSWORD, registered, removed
from tests.support.gateway import INTERNAL_SECRET, GatewayProcess

CLIENTS = (AsyncParley(), Parley())
"""Clients that send nothing."""
HOW = {"asynchronous": CLIENTS[0], "synchronous": CLIENTS[1]}
GROUPS = (*FILES.values(), "runs", "keys", "webhooks", "documents", "admin", "gateway")
OF_THE_CLIENT = (
    "log_on",
    "with_options",
    "send",
    "request",
    "stream_chat",
    "stream_zone",
    "stream_events",
    "stream_figures",
)
PATHS = (
    *(
        f"{group}.{name}"
        for group in GROUPS
        for name, _ in inspect.getmembers(type(getattr(CLIENTS[0], group)), inspect.isfunction)
        if not name.startswith("_")
    ),
    *OF_THE_CLIENT,
)

USER, GUEST = "lovelace", "babbage"
AGENTS = {USER: "scout", GUEST: "marlow"}
BANK, DOMAIN, MEMORY = "field-notes", "observatory", "The Moon's distance"
SAMPLE_ID = re.compile(r"\b(cnv|run|key|whe|dlv|doc)_067b9c1c8e40a5f13d5e8f0b6c2a4907\b")


@dataclass(slots=True)
class Scene:
    """What is there when an example runs: users, who calls (None: nobody), and the ids that stand for the samples'."""

    owner: AsyncParley
    another: AsyncParley | None = None
    caller: str | None = USER
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def guest(self) -> AsyncParley:
        assert self.another is not None
        return self.another


Preparation = Callable[[Scene], Awaitable[None]]


async def nobody(scene: Scene) -> None:
    await removed(scene.owner.url, USER)
    scene.caller = None


async def guest(scene: Scene) -> None:
    scene.another = await registered(scene.owner.url, GUEST, AGENTS[GUEST])


async def as_guest(scene: Scene) -> None:
    scene.caller = GUEST


async def no_scout(scene: Scene) -> None:
    await scene.owner.agents.destroy("scout")


async def on_roster(scene: Scene) -> None:
    await scene.guest.agents.add("scout")


async def conversation(scene: Scene) -> None:
    """Lovelace has talked with scout, in a default conversation and in one with the sample's id."""
    message, _ = await scene.owner.agents.chat("Where is the door of the dome?")
    scene.ids["run"] = message.id.replace("msg_", "run_")
    scene.ids["cnv"] = (await scene.owner.conversations.create(agent="scout")).id
    for text in ("The door of the dome is red.", "Saturn is up."):
        await scene.owner.agents.chat(text, conversation=scene.ids["cnv"])


async def domain(scene: Scene) -> None:
    """Lovelace has founded a domain, in whose lobby something is said."""
    await scene.owner.domains.create(DOMAIN, "Where we look up", agent="scout")
    await scene.owner.zones.post("Saturn is up.", domain=DOMAIN)


async def nightly(scene: Scene) -> None:
    await scene.owner.zones.create("nightly", domain=DOMAIN)


async def guests_domain(scene: Scene) -> None:
    await scene.guest.domains.create(DOMAIN, "Where we look up", agent="marlow", access="public")


async def joined(scene: Scene) -> None:
    await scene.owner.domains.join(DOMAIN, agent="scout")


async def banned(scene: Scene) -> None:
    await scene.guest.domains.ban("scout", domain=DOMAIN)


async def bank(scene: Scene) -> None:
    """Lovelace has a bank with a memory."""
    await scene.owner.banks.create(BANK, agent="scout")
    await scene.owner.banks.load(BANK, MEMORY, agent="scout", content="The Moon is 384,400 km away on average.")


async def offered(scene: Scene) -> None:
    await scene.guest.banks.create(BANK, agent="marlow")
    await scene.guest.banks.permissions(BANK, agent="scout", permission="read")


async def accepted(scene: Scene) -> None:
    await scene.owner.banks.accept(BANK, agent="scout")


async def api_key(scene: Scene) -> None:
    scene.ids["key"] = (await scene.owner.keys.create("script")).id


async def endpoint(scene: Scene) -> None:
    """Lovelace has an endpoint, where nobody listens, and a delivery to it."""
    scene.ids["whe"] = (await scene.owner.webhooks.create("http://127.0.0.1:9/hook")).id
    await scene.owner.webhooks.test("webhook.test")
    scene.ids["dlv"] = (await scene.owner.webhooks.deliveries().page()).items[0].id


async def document(scene: Scene) -> None:
    scene.ids["doc"] = (await scene.owner.documents.create("Observing plan", "Jupiter rises at nine.")).id


OF_GROUPS: dict[str, tuple[Preparation, ...]] = {
    "domains": (domain,),
    "zones": (domain,),
    "banks": (bank,),
    "conversations": (conversation,),
    "runs": (conversation,),
    "keys": (api_key,),
    "webhooks": (endpoint,),
    "documents": (document,),
    "admin": (guest,),
}
PREPARED: dict[str, tuple[Preparation, ...]] = {
    "users.create": (nobody,),
    "agents.add": (guest, as_guest),
    "agents.remove": (guest, as_guest, on_roster),
    "agents.create": (no_scout,),
    "agents.history": (conversation,),
    "domains.create": (),
    "domains.invite": (guest, guests_domain, as_guest),
    "domains.join": (
        guest,
        guests_domain,
    ),
    "domains.leave": (guest, guests_domain, joined),
    "domains.kick": (guest, guests_domain, joined, as_guest),
    "domains.ban": (guest, guests_domain, joined, as_guest),
    "domains.unban": (guest, guests_domain, banned, as_guest),
    "zones.destroy": (domain, nightly),
    "banks.create": (),
    "banks.accept": (guest, offered),
    "banks.unload": (guest, offered, accepted),
    "stream_zone": (domain,),
}

ENDLESS = frozenset({"zones.stream", "stream_zone", "webhooks.stream", "stream_events"})
ANSWERS_NOTHING = frozenset({"domains.kick", "domains.leave", "domains.unban", "admin.figures"})


def preparations_of(path: str) -> tuple[Preparation, ...]:
    return PREPARED.get(path, OF_GROUPS.get(path.partition(".")[0], ()))


def method_of(client: Any, path: str) -> Callable[..., Any]:
    for name in path.split("."):
        client = getattr(client, name)
    return client


def example_of(documented: object) -> str:
    said = re.search(r"^Example:\n((?: +.*\n|\n)*)", f"{inspect.getdoc(documented)}\n", re.MULTILINE)
    return textwrap.dedent(said[1]).strip() if said else ""


def program(example: str, *, is_async: bool) -> Callable[[Any], Any]:
    """Return an example as a function of the client, which returns the value of its last expression."""
    source = f"{'async ' if is_async else ''}def run(client):\n{textwrap.indent(example, '    ')}"
    tree = ast.parse(source)
    body: list[ast.stmt] = tree.body[0].body  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(last := body[-1], ast.Expr):
        body[-1] = ast.copy_location(ast.Return(last.value), last)
    names: dict[str, Any] = {
        "datetime": datetime,
        "UTC": UTC,
        "timedelta": timedelta,
        "AsyncParley": AsyncParley,
        "Parley": Parley,
    }
    exec(compile(tree, "<example>", "exec"), names)
    return names["run"]


async def ran(example: str, how: str, url: str, user: str | None) -> Any:
    """Run an example in a session of a user with an agent selected; return its value."""
    run = program(example, is_async=how == "asynchronous")

    def synchronously() -> Any:
        with Parley(url, internal_secret=INTERNAL_SECRET) as client:
            if user is not None:
                client.log_on(user, PASSWORD)
                for agent in client.agents.list(agent=AGENTS[user]):
                    client.agents.select(agent.name)
            return run(client)

    if how == "synchronous":
        return await asyncio.to_thread(synchronously)
    async with AsyncParley(url, internal_secret=INTERNAL_SECRET) as client:
        if user is not None:
            await client.log_on(user, PASSWORD)
            async for agent in client.agents.list(agent=AGENTS[user]):
                await client.agents.select(agent.name)
        return await run(client)


@pytest.fixture
async def scene(gateway: GatewayProcess) -> AsyncIterator[Scene]:
    made = Scene(await registered(gateway.base, USER, AGENTS[USER]))
    yield made
    await gone(made.owner, USER)
    if made.another is not None:
        await gone(made.another, GUEST)


async def gone(client: AsyncParley, user: str) -> None:
    """Remove a user, by an operator's routes where an example has ended its session or changed its password."""
    async with client:
        try:
            await client.users.destroy(PASSWORD)
        except AccessError:
            await removed(client.url, user)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("path", PATHS)
async def test_the_example_of_a_method_runs(
    path: str, how: str, scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    method = method_of(HOW[how], path)
    example = example_of(method)
    assert f"client.{path}(" in example
    for prepare in preparations_of(path):
        await prepare(scene)
    example = SAMPLE_ID.sub(lambda found: scene.ids[found[1]], example)
    running = asyncio.create_task(ran(example, how, scene.owner.url, scene.caller))
    if path in ENDLESS:
        await _end_stream(path, scene, capsys, running)
    value = await running
    if path.endswith("stream_chat"):
        assert re.search("I am scout|I know", capsys.readouterr().out)
    if get_type_hints(method)["return"] is NoneType or "stream" in path or path in ANSWERS_NOTHING:
        assert value is None
    else:
        assert value or path == "webhooks.recover"  # the number of deliveries, of which none has failed yet


async def _end_stream(path: str, scene: Scene, capsys: pytest.CaptureFixture[str], running: asyncio.Task[Any]) -> None:
    """Wait until the example of a stream has printed something; then end the stream at its source."""
    zone = domain in preparations_of(path)
    while not capsys.readouterr().out:
        assert not running.done()
        if zone:
            await scene.owner.zones.post("The dome is open.", domain=DOMAIN)
        await asyncio.sleep(0.05)
    if zone:
        await scene.owner.domains.destroy(DOMAIN)
    else:
        await scene.owner.users.revoke("all")  # the example's session


@pytest.mark.parametrize("how", HOW)
async def test_the_example_of_the_client_itself_runs(how: str, scene: Scene) -> None:
    key = (await scene.owner.keys.create("script")).key
    example = example_of(type(HOW[how]))
    assert example
    here = example.replace("http://127.0.0.1:8000", scene.owner.url).replace("plk_...", key)
    await ran(here, how, scene.owner.url, None)
    assert [message.role async for message in scene.owner.agents.history("scout")] == ["user", "agent"]


def test_the_example_of_verify_runs() -> None:
    results = doctest.testmod(parley_client.webhooks)
    assert (results.failed, results.attempted > 0) == (0, True)
