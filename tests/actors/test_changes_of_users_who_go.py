"""A change on its way while US_Destroy ends its user, or the owner of what it changes: nothing fails."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from actors.agents.messages import no_such_agent
from actors.banks.messages import no_such_bank
from actors.commands.table import COMMANDS
from actors.core import Core, CoreOptions
from actors.domains.messages import no_such_domain
from persistence.store import Settled, Unit
from tests.support.gateway import PASSWORD, Answer, Client
from tests.support.in_process import CommandClient, CoreGateway, commanded

CALM = 50
"""The number of steps of the event loop after which nothing but a commit is waited for."""


class Gate:
    """Holds the units of a store in the order of their submission."""

    def __init__(self, core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
        self._submit = core.store.submit
        self._held: list[tuple[Unit, Settled]] | None = None  # None while it is open
        self._reading = 0
        monkeypatch.setattr(core.store, "submit", self._take)
        for name in ("fetch", "read"):
            monkeypatch.setattr(core.store, name, self._counted(getattr(core.store, name)))

    def _counted(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def reading(query: Any) -> Any:
            self._reading += 1
            try:
                return await read(query)
            finally:
                self._reading -= 1

        return reading

    def _take(self, unit: Unit, settled: Settled) -> None:
        if self._held is None:
            self._submit(unit, settled)
        else:
            self._held.append((unit, settled))

    def hold(self) -> None:
        """Submit nothing from now on."""
        self._held = []

    @property
    def has_end(self) -> bool:
        """Whether the end of a user waits."""
        return any(_ends_user(unit) for unit, _ in self._held or ())

    def let_go(self) -> None:
        """Submit the end of the user before what other actors have submitted."""
        held, self._held = self._held or [], None
        (end,) = (unit for unit, _ in held if _ends_user(unit))
        users_own = [pair for pair in held if pair[0].incarnations == end.incarnations]
        for unit, settled in (*users_own, *(pair for pair in held if pair not in users_own)):
            self._submit(unit, settled)

    async def calm(self) -> None:
        """Wait until all under way waits for a commit."""
        still = 0
        while still < CALM:
            await asyncio.sleep(0)
            still = 0 if self._reading else still + 1


def _ends_user(unit: Unit) -> bool:
    return any("DELETE FROM users" in write.sql for write in unit.writes)


class Scene:
    """A user who goes, with all that a user may have, and a guest in it."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name

    async def set_up(self) -> None:
        n = self.name
        self.going, self.guest = await self.client.register(f"{n}-going"), await self.client.register(f"{n}-guest")
        self.other_session = await self.client.log_on(f"{n}-going")
        for user, agents in ((self.guest, ("visitor", "lodger", "host")), (self.going, ("spare", "scout"))):
            for agent in agents:
                await user.agent(f"{n}-{agent}", access="public")
            lead = f"{n}-{agents[-1]}"
            for domain in (f"{lead}-dome", f"{lead}-hall"):
                await do(user, "DM_Create", {"agent": lead}, name=domain, description="d", access="public")
                await do(user, "ZN_Create", {"domain": domain}, name="attic")
            bank = f"{lead}-bank"
            await do(user, "MB_Create", {"agent": lead}, name=bank, description="d")
            await do(user, "MB_Load", {"bank": bank, "agent": lead}, name="moon", content="The Moon is far away.")
        for user, agent, own, lead in (
            (self.guest, "visitor", "host", "scout"),
            (self.going, "spare", "scout", "host"),
        ):
            other = self.going if user is self.guest else self.guest
            await do(user, "DM_Join", {"domain": f"{n}-{lead}-dome", "agent": f"{n}-{agent}"})
            await do(user, "AP_Add", {"agent": f"{n}-{lead}"})
            await do(user, "AP_Chat", {"agent": f"{n}-{lead}"}, content="Hello, I am Ann.")
            await do(other, "MB_Permissions", {"bank": f"{n}-{lead}-bank", "agent": f"{n}-{agent}"}, permission="write")
            await do(user, "AP_Select", {"agent": f"{n}-{own}"})
        await do(self.guest, "MB_Accept", {"bank": f"{n}-scout-bank", "agent": f"{n}-visitor"})
        await do(self.going, "MB_Permissions", {"bank": f"{n}-scout-bank", "agent": f"{n}-lodger"}, permission="read")
        await do(self.going, "DM_Ban", {"domain": f"{n}-scout-dome", "agent": f"{n}-lodger"})
        await do(self.going, "AP_LogOff", {"agent": f"{n}-spare"})
        made = await self.going.request("POST", "/api/api-keys", json={"name": "one"})
        self.key = made.body["id"]
        made = await self.going.request("POST", "/api/webhooks/endpoints", json={"url": "https://example.org/a"})
        self.endpoint = made.body["id"]


async def do(user: Client, service: str, target: dict[str, Any], *, content: str | None = None, **vx: Any) -> Answer:
    body: dict[str, Any] = {"target": target}
    if vx:
        body["vx"] = vx
    if content:
        body["content"] = content
    return (await user.command(service, **body)).ok()


Body = dict[str, Any]


def named(vx: str, **more: str) -> Body:
    return {"vx": {"name": vx, "description": "new"} | more}


CHANGES: list[tuple[str, str, Body]] = [
    ("going", "AP_Create", named("@-new")),
    ("going", "AP_Destroy", {"target": {"agent": "@-spare"}}),
    ("going", "AP_LogOn", {"target": {"agent": "@-spare"}}),
    ("going", "AP_LogOff", {"target": {"agent": "@-scout"}}),
    ("going", "AP_Modify", {"target": {"agent": "@-scout"}, "vx": {"name": "@-renamed"}}),
    ("going", "AP_Update", {"target": {"agent": "@-scout"}} | named("@-renamed")),
    ("going", "AP_Add", {"target": {"agent": "@-visitor"}}),
    ("going", "AP_Remove", {"target": {"agent": "@-host"}}),
    ("going", "AP_Select", {"target": {"agent": "@-spare"}}),
    ("going", "AP_Chat", {"target": {"agent": "@-scout"}, "content": "Hello"}),
    ("going", "AP_Chat", {"target": {"agent": "@-host"}, "content": "Hello"}),
    ("going", "AP_Chat", {"target": {"agent": "@-scout", "domain": "@-scout-dome"}, "content": "Hello"}),
    ("going", "CV_Create", {"target": {"agent": "@-host"}, "vx": {"name": "Moons"}}),
    ("going", "CV_Update", {"target": {"agent": "@-host", "conversation": "default"}, "vx": {"name": "Moons"}}),
    ("going", "CV_Fork", {"target": {"agent": "@-host", "conversation": "default"}, "vx": {"seq": 2}}),
    ("going", "CV_Destroy", {"target": {"agent": "@-host", "conversation": "default"}}),
    ("going", "DM_Create", {"target": {"agent": "@-scout"}} | named("@-new")),
    ("going", "DM_Update", {"target": {"domain": "@-scout-dome"}} | named("@-renamed")),
    ("going", "DM_Destroy", {"target": {"domain": "@-scout-dome"}}),
    ("going", "DM_Join", {"target": {"domain": "@-host-hall", "agent": "@-spare"}}),
    ("going", "DM_Leave", {"target": {"domain": "@-host-dome", "agent": "@-spare"}}),
    ("going", "DM_Invite", {"target": {"domain": "@-scout-hall", "agent": "@-lodger"}}),
    ("going", "DM_Kick", {"target": {"domain": "@-scout-dome", "agent": "@-visitor"}}),
    ("going", "DM_Ban", {"target": {"domain": "@-scout-dome", "agent": "@-visitor"}}),
    ("going", "DM_Unban", {"target": {"domain": "@-scout-dome", "agent": "@-lodger"}}),
    ("going", "DM_Select", {"target": {"domain": "@-scout-dome"}}),
    ("going", "ZN_Create", {"target": {"domain": "@-scout-dome"}, "vx": {"name": "cellar"}}),
    ("going", "ZN_Create", {"target": {"domain": "@-host-dome"}, "vx": {"name": "cellar"}}),
    ("going", "ZN_Destroy", {"target": {"domain": "@-scout-dome", "zone": "attic"}}),
    ("going", "ZN_Post", {"target": {"domain": "@-scout-dome"}, "content": "Hello"}),
    ("going", "ZN_Post", {"target": {"domain": "@-host-dome"}, "content": "Hello"}),
    ("going", "ZN_Select", {"target": {"domain": "@-scout-dome", "zone": "attic"}}),
    ("going", "MB_Create", {"target": {"agent": "@-scout"}} | named("@-new")),
    ("going", "MB_Update", {"target": {"bank": "@-scout-bank"}} | named("@-renamed")),
    ("going", "MB_Destroy", {"target": {"bank": "@-scout-bank"}}),
    ("going", "MB_Permissions", {"target": {"bank": "@-scout-bank", "agent": "@-spare"}, "vx": {"permission": "read"}}),
    ("going", "MB_Permissions", {"target": {"bank": "@-scout-bank", "agent": "@-host"}, "vx": {"permission": "read"}}),
    ("going", "MB_Accept", {"target": {"bank": "@-host-bank", "agent": "@-spare"}}),
    ("going", "MB_Unload", {"target": {"bank": "@-scout-bank", "agent": "@-visitor"}}),
    ("going", "MB_Load", {"target": {"bank": "@-scout-bank", "agent": "@-scout"}, "vx": {"name": "s"}, "content": "x"}),
    ("going", "MB_Delete", {"target": {"bank": "@-scout-bank"}, "vx": {"name": "moon"}}),
    ("going", "MB_Censor", {"target": {"bank": "@-scout-bank"}, "vx": {"name": "moon"}}),
    ("going", "US_Update", {"vx": {"description": "new"}}),
    ("going", "US_LogOff", {}),
    ("going", "US_Revoke", {"vx": {"name": "all"}}),
    ("guest", "AP_Add", {"target": {"agent": "@-spare"}}),
    ("guest", "AP_Remove", {"target": {"agent": "@-scout"}}),
    ("guest", "AP_Select", {"target": {"agent": "@-scout"}}),
    ("guest", "AP_Chat", {"target": {"agent": "@-scout"}, "content": "Hello"}),
    ("guest", "CV_Create", {"target": {"agent": "@-scout"}, "vx": {"name": "Moons"}}),
    ("guest", "CV_Update", {"target": {"agent": "@-scout", "conversation": "default"}, "vx": {"name": "Moons"}}),
    ("guest", "CV_Fork", {"target": {"agent": "@-scout", "conversation": "default"}, "vx": {"seq": 2}}),
    ("guest", "CV_Destroy", {"target": {"agent": "@-scout", "conversation": "default"}}),
    ("guest", "DM_Join", {"target": {"domain": "@-scout-hall", "agent": "@-visitor"}}),
    ("guest", "DM_Leave", {"target": {"domain": "@-scout-dome", "agent": "@-visitor"}}),
    ("guest", "DM_Invite", {"target": {"domain": "@-host-hall", "agent": "@-spare"}}),
    ("guest", "DM_Kick", {"target": {"domain": "@-host-dome", "agent": "@-spare"}}),
    ("guest", "DM_Ban", {"target": {"domain": "@-host-dome", "agent": "@-spare"}}),
    ("guest", "DM_Select", {"target": {"domain": "@-scout-dome"}}),
    ("guest", "ZN_Create", {"target": {"domain": "@-scout-dome"}, "vx": {"name": "cellar"}}),
    ("guest", "ZN_Post", {"target": {"domain": "@-scout-dome"}, "content": "Hello"}),
    ("guest", "ZN_Select", {"target": {"domain": "@-scout-dome", "zone": "attic"}}),
    ("guest", "MB_Permissions", {"target": {"bank": "@-host-bank", "agent": "@-spare"}, "vx": {"permission": "read"}}),
    ("guest", "MB_Accept", {"target": {"bank": "@-scout-bank", "agent": "@-lodger"}}),
    ("guest", "MB_Unload", {"target": {"bank": "@-scout-bank", "agent": "@-visitor"}}),
    (
        "guest",
        "MB_Load",
        {"target": {"bank": "@-scout-bank", "agent": "@-visitor"}, "vx": {"name": "s"}, "content": "x"},
    ),
]
"""Who sends which change; `@` stands for the beginning of all names."""

ROUTES: list[tuple[str, str, Body | None]] = [
    ("POST", "/api/api-keys", {"name": "two"}),
    ("DELETE", "/api/api-keys/{key}", None),
    ("POST", "/api/webhooks/endpoints", {"url": "https://example.org/b"}),
    ("PATCH", "/api/webhooks/endpoints/{endpoint}", {"description": "new"}),
    ("DELETE", "/api/webhooks/endpoints/{endpoint}", None),
    ("POST", "/api/webhooks/test", {"event_type": "webhook.test", "data": {}}),
    ("POST", "/api/documents", {"name": "Long", "content": "A text."}),
]

ALSO = {"MB_Accept": (3002,), "CV_Fork": (3002,)}
"""What else is answered: there is no offer any more, or nobody to go on with."""

GONE = {
    "AP_Destroy": no_such_agent,
    "AP_Modify": no_such_agent,
    "AP_Update": no_such_agent,
    "DM_Update": no_such_domain,
    "MB_Update": no_such_bank,
}
"""What names the thing that has gone, and not its owner, whom the request does not name."""

NOT_HERE = {"US_Create", "US_LogOn", "US_Destroy"}
"""Without a session, or the end itself."""


@pytest.fixture(scope="session")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CoreGateway]:
    options = CoreOptions(registrations_per_hour=0, default_plan="enterprise")
    async with commanded(tmp_path_factory.mktemp("house"), options=options) as gateway:
        yield gateway


@pytest.fixture
def gate(house: CoreGateway, monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(house.core, monkeypatch)


@pytest.fixture
async def scene(house: CoreGateway, unique: str) -> Scene:
    scene = Scene(CommandClient(house), unique)
    await scene.set_up()
    return scene


def of(body: Any, name: str) -> Any:
    """Return a body with the names of a test."""
    if isinstance(body, dict):
        return {member: of(value, name) for member, value in body.items()}
    return body.replace("@", name) if isinstance(body, str) else body


def test_each_service_that_changes_something_is_tried():
    assert {service for _, service, _ in CHANGES} | NOT_HERE == {name for name, of in COMMANDS.items() if of.mutates}


async def while_it_ends(scene: Scene, gate: Gate, change: Callable[[], Awaitable[Answer]]) -> Answer:
    """Begin a change while the end of the user waits to be stored; store it behind that, and return its answer."""
    gate.hold()
    ending = asyncio.create_task(scene.other_session.command("US_Destroy", vx={"secret": PASSWORD}))
    async with asyncio.timeout(30):
        while not gate.has_end:
            await asyncio.sleep(0)
    changing = asyncio.ensure_future(change())
    await gate.calm()
    gate.let_go()
    async with asyncio.timeout(30):
        (await ending).ok()
        return await changing


@pytest.mark.parametrize(("who", "service", "body"), CHANGES, ids=lambda value: value if isinstance(value, str) else "")
async def test_a_change_while_a_user_goes(
    scene: Scene, gate: Gate, who: str, service: str, body: Body, caplog: pytest.LogCaptureFixture
):
    client: Client = getattr(scene, who)
    answer = await while_it_ends(scene, gate, lambda: client.command(service, **of(body, scene.name)))
    assert answer.code in (0, 2001, 3000, *ALSO.get(service, ())), answer.body
    if service in GONE:
        assert answer.note == GONE[service]().note
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
async def test_a_route_while_its_user_goes(
    scene: Scene, gate: Gate, method: str, path: str, body: Body | None, caplog: pytest.LogCaptureFixture
):
    place = path.format(key=scene.key, endpoint=scene.endpoint)
    answer = await while_it_ends(scene, gate, lambda: scene.going.request(method, place, json=body))
    assert answer.http in (202, 404), answer.body
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
