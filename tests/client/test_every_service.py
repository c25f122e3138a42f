"""Every service through the Python client, on the running gateway; records are compared with the answers."""

import inspect
import types
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from actors.commands.table import COMMANDS
from clients.generator.services import FILES, method_name
from parley_client import AsyncParley, Page, Parley, RequestError, UnexpectedAnswer, encode
from parley_client.answers import answer_of
from parley_client.records import Agent, Message
from tests.support.client_world import PASSWORD, World, opened
from tests.support.gateway import GatewayProcess


class Recorder:
    """Keeps the answers of a client's commands as they came, and the services that were called."""

    def __init__(self, client: AsyncParley) -> None:
        self.client = client
        self.called: set[str] = set()
        self.raw: list[Any] = []
        send = client.send

        async def recorded(service: str, body: dict[str, Any], *, idempotency_key: str | None = None) -> Any:
            answer = await send(service, body, idempotency_key=idempotency_key)
            self.called.add(service)
            self.raw += [*answer.profile, *answer.content]
            return answer

        client.send = recorded

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


SPARE = Parley()
"""A client that sends nothing."""


@pytest.fixture(scope="module")
async def world(gateway: GatewayProcess) -> AsyncIterator[World]:
    made = await opened(gateway.base)
    yield made
    await made.close()


def differences(record: Any, raw: Any, path: str) -> list[str]:
    """Compare a record with the answer it was made of, members and types."""
    if is_dataclass(record):
        names = {field.name for field in fields(record)}
        found = [f"{path}: {names ^ raw.keys()}"] if not raw.keys() <= names else []
        hints = get_type_hints(type(record))
        found += [
            f"{path}.{name} is no {hints[name]}" for name in names if not fits(getattr(record, name), hints[name])
        ]
        return found + [
            line
            for name in raw.keys() & names
            for line in differences(getattr(record, name), raw[name], f"{path}.{name}")
        ]
    if isinstance(record, tuple):
        items: tuple[Any, ...] = record
        if len(items) != len(raw):
            return [f"{path}: {len(items)} of {len(raw)}"]
        pairs = zip(items, raw, strict=True)
        return [line for item, value in pairs for line in differences(item, value, f"{path}[]")]
    return [] if encode(record) == raw else [f"{path}: {record!r} is not {raw!r}"]


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated type."""
    origin, members = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, member) for member in members)
    if origin is tuple:
        return isinstance(value, tuple) and all(fits(item, members[0]) for item in value)
    if origin is not None and isinstance(origin, type):
        return isinstance(value, Mapping)
    return value in members if members else isinstance(value, kind)


def records_in(result: Any) -> list[Any]:
    """List the records of a method's result."""
    if isinstance(result, Page):
        page: Page[Any, Any] = result
        return [*([page.record] if page.record else []), *page.items]
    if isinstance(result, tuple | list):
        return [record for item in result for record in records_in(item)]
    return [] if result is None else [result]


async def test_every_service_answers_the_records_that_its_method_declares(
    world: World, gateway: GatewayProcess
) -> None:
    owner, guest = Recorder(world.owner), world.guest
    found: list[str] = []

    async def call(calling: Any, *, left_out: int = 0) -> Any:
        owner.raw.clear()
        result = await (calling.page() if hasattr(calling, "page") else calling)
        records, raw = records_in(result), list(owner.raw)
        assert len(records) == len(raw) - left_out
        found.extend(
            line
            for record in records
            for line in min((differences(record, value, type(record).__name__) for value in raw), key=len)
        )
        return result

    users, agents, domains, zones = owner.users, owner.agents, owner.domains, owner.zones
    banks, conversations = owner.banks, owner.conversations

    await call(users.read())
    await call(users.update(description="The first"))
    await call(users.sessions())

    await call(agents.create("courier", "Carries things", access="domain"))
    await call(agents.update("courier", "Carries more", agent="courier"))
    await call(agents.modify(agent="courier", profile="Runs fast."))
    await call(agents.log_on("courier"))
    await call(agents.log_off("courier"))
    await call(agents.add("marlow"))
    await call(agents.list())
    await call(agents.read("scout"))
    await call(agents.select("scout"))
    message, reply = await call(agents.chat("Where is the Moon?", agent="scout"))
    assert (message.role, reply.role, reply.seq) == ("user", "agent", message.seq + 1)
    await call(agents.history("scout"))
    await call(agents.remove("marlow"))

    await call(domains.create("observatory", "Looks up", agent="scout", access="public"))
    await call(domains.update("observatory", "Looks further", domain="observatory"))
    await call(domains.list())
    await call(domains.select("observatory"))
    await call(domains.invite(domain="observatory", agent="marlow"))
    await guest.domains.join(domain="observatory", agent="marlow")
    await call(domains.join(domain="observatory", agent="scout"))
    await call(domains.read("observatory"))
    await call(domains.kick("marlow", domain="observatory"))
    await call(domains.ban("marlow", domain="observatory"))
    await call(domains.unban("marlow", domain="observatory"))
    await call(domains.invite(domain="observatory", agent="courier"))
    await call(domains.leave(domain="observatory", agent="courier"))

    await call(zones.create("nightly", domain="observatory"))
    await call(zones.list(domain="observatory"))
    await call(zones.select("nightly", domain="observatory"))
    await call(zones.post("Saturn is up.", domain="observatory", zone="nightly"))
    await call(zones.read("nightly", domain="observatory"))
    await call(zones.destroy("nightly", domain="observatory"))

    await call(banks.create(name="field-notes", description="What scout found", agent="scout"))
    await call(banks.update("field-notes", "field-notes", "All that scout found"))
    await call(banks.load("field-notes", "The Moon", content="The Moon is 384,400 km away on average.", agent="scout"))
    await call(banks.list())
    await call(banks.read("field-notes"))
    await call(banks.recall("field-notes", "How far is the Moon?"), left_out=1)  # the bank
    await call(banks.agent_list("field-notes"))
    await call(banks.permissions("field-notes", agent="courier", permission="read"))
    await guest.banks.create(name="logbook", agent="marlow")
    await guest.banks.permissions("logbook", agent="scout", permission="read")
    _, standing = await call(agents.read("scout"))
    assert [offer.bank for offer in standing.offers] == ["logbook"]
    await call(banks.accept("logbook", agent="scout"))
    await call(banks.unload("logbook", agent="scout"))
    await call(banks.censor("field-notes", name="The Moon"))
    await call(banks.delete("field-notes", name="*"))
    await call(banks.destroy("field-notes"))

    made = await call(conversations.create(agent="scout", name="Travel plans"))
    await agents.chat("A train to Rome", conversation=made.id)
    await call(conversations.update(made.id, "Plans"))
    await call(conversations.read(made.id))
    await call(conversations.list())
    await call(conversations.search("train"))
    fork = await call(conversations.fork(made.id, seq=1))
    await call(conversations.destroy(fork.id))

    await call(domains.destroy("observatory"))
    await call(agents.destroy("courier"))
    await call(users.create("hopper", PASSWORD))
    await call(users.log_on("hopper", PASSWORD))
    await call(users.revoke("all"))
    await call(users.log_off())
    await owner.log_on("lovelace", PASSWORD)
    async with AsyncParley(gateway.base) as hopper:
        spare = Recorder(hopper)
        await spare.log_on("hopper", PASSWORD)
        await spare.users.destroy(PASSWORD)

    assert found == []
    streamed = {service for service, command in COMMANDS.items() if command.follow}
    assert owner.called | spare.called | streamed == COMMANDS.keys()


async def test_pages_are_read_one_after_the_other(world: World) -> None:
    for number in range(5):
        await world.guest.agents.create(f"crew-{number}", "One of the crew")
    listed = world.guest.agents.list(agent="crew-", limit=2)
    assert [agent.name async for agent in listed] == [f"crew-{number}" for number in range(5)]
    assert [len(page.items) async for page in listed.pages()] == [2, 2, 1]
    first = await listed.page()
    later = world.guest.agents.list(agent="crew-", limit=2, cursor=first.next)
    assert [agent.name async for agent in later] == ["crew-2", "crew-3", "crew-4"]


async def test_gateway_routes_answer_records(world: World, gateway: GatewayProcess) -> None:
    client = world.guest
    assert (await client.gateway.health()).status == "ok"
    key = await client.keys.create("script", expires_in_days=3, scopes={"services": ["US_*"]}, limit=9)
    assert key.scopes is not None
    assert (key.scopes.services, key.limit) == (("US_*",), 9)
    assert key.key not in repr(key)
    assert [listed.id for listed in await client.keys.list()] == [key.id]
    async with AsyncParley(gateway.base, key.key) as other:
        assert (await other.users.read()).name == "babbage"
    await client.keys.revoke(key.id)
    sandbox = await client.keys.sandbox()
    assert sandbox.limit == 100

    endpoint = await client.webhooks.create("http://127.0.0.1:9/hook", events=["webhook.test"])
    await client.webhooks.test("webhook.test", {"a": 1})
    deliveries = [delivery async for delivery in client.webhooks.deliveries(endpoint_id=endpoint.id)]
    assert [delivery.event_type for delivery in deliveries] == ["webhook.test"]
    assert (await client.webhooks.change(endpoint.id, rotate_secret="now")).secret not in (None, endpoint.secret)
    assert await client.webhooks.recover(endpoint.id, datetime.now(UTC)) == 0
    assert (await client.webhooks.disable(endpoint.id)).active is False
    await client.webhooks.delete(endpoint.id)
    assert await client.webhooks.list() == ()


def test_the_synchronous_client_has_the_same_methods() -> None:
    clients = (AsyncParley(), Parley())
    for service, command in COMMANDS.items():
        both = [getattr(getattr(client, FILES[command.group]), method_name(service)) for client in clients]
        assert [*inspect.signature(both[0]).parameters] == [*inspect.signature(both[1]).parameters]


@pytest.mark.parametrize("service", [name for name, command in COMMANDS.items() if command.example is not None])
def test_every_example_of_the_docstrings_is_a_call_that_the_method_takes(service: str) -> None:
    command = COMMANDS[service]
    groups: dict[str, type[Any]] = {name: type(getattr(SPARE, name)) for name in FILES.values()}
    method: Callable[..., Any] = getattr(groups[FILES[command.group]], method_name(service))
    example = inspect.cleandoc(method.__doc__ or "").partition("Example:")[2].partition("Raises:")[0].strip()
    sent: list[tuple[str, Any]] = []

    class Sent(Exception):
        pass

    class Client:
        """Keeps what is sent."""

        def __getattr__(self, group: str) -> Any:
            return groups[group](self)

        def send(self, service: str, body: Any, **_: Any) -> Any:
            sent.append((service, body))
            raise Sent

        def stream_zone(self, body: Any, **_: Any) -> Any:
            sent.append(("ZN_Stream", body))
            return ()

    with suppress(Sent):
        exec(example, {"client": Client()})
    assert sent == [(service, command.example)]


def test_a_record_takes_unknown_members_and_refuses_missing_ones() -> None:
    raw: Any = {
        "header": {"service": "AP_Read", "request_id": "r", "time": "2026-11-20T10:00:00.000Z", "next": None}
        | {"context": {"user": None, "agent": None, "domain": None, "zone": None}, "later": 1},
        "profile": [{"name": "scout"}],
        "content": [],
    }
    with pytest.raises(UnexpectedAnswer, match="Agent has no member"):
        answer_of(raw, {}).record(Agent)
    with pytest.raises(UnexpectedAnswer, match="has no Message"):
        answer_of(raw, {}).item(Message)


def test_the_synchronous_client_talks_with_the_gateway(gateway: GatewayProcess) -> None:
    with Parley(gateway.base) as client:
        client.users.create("curie", PASSWORD)
        client.log_on("curie", PASSWORD)
        client.agents.create("radium", "Shines")
        client.agents.log_on("radium")
        assert [agent.name for agent in client.agents.list()] == ["radium"]
        stream = client.agents.stream_chat("Hello", agent="radium")
        said = "".join(stream.text())
        assert stream.run is not None
        reply = client.runs.read(stream.run).reply
        assert reply is not None
        assert reply.content == said
        with pytest.raises(RequestError) as refused:
            client.agents.create("no", "")
        assert (refused.value.code, refused.value.http_code) == (1002, 400)
        assert refused.value.request_id
        assert "missing" in refused.value.note
