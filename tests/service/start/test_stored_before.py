"""A database of an earlier version opens and works; tests/fixtures/before-0.2.0 holds it and its maker."""

import gzip
import json
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from datetime import UTC, datetime
from typing import Any, cast

import pytest
import standardwebhooks

from tests.support.clock import ClockFile
from tests.support.gateway import BUS, CHECKOUT, Answer, Client, GatewayProcess, running
from tests.support.receiver import receiving
from tests.support.stores import sqlite_only
from tests.tool_servers.catalog import invoke, words
from tests.tool_servers.over_http import sdk_server, serving

STORED = CHECKOUT / "tests" / "fixtures" / "before-0.2.0"
pytestmark = sqlite_only
KNOWN: dict[str, Any] = json.loads((STORED / "stored.json").read_text(encoding="utf-8"))
MINUTE_MS = 60_000


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """Today's gateway on a copy of the stored files, a minute after they were made, with its tool server."""
    folder = tmp_path_factory.mktemp("before")
    data = folder / "data"
    data.mkdir()
    (data / "parley.db").write_bytes(gzip.decompress((STORED / "parley.db.gz").read_bytes()))
    shutil.copy(STORED / "master.key", data)
    clock = ClockFile(folder / "clock")
    clock.move(KNOWN["made_at"] + MINUTE_MS - clock.now())
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(serving(sdk_server().streamable_http_app()))
        with closing(sqlite3.connect(data / "parley.db")) as database, database:
            assert database.execute("UPDATE tool_servers SET url = ?", (f"http://127.0.0.1:{port}/mcp",)).rowcount == 1
        settings = {"PARLEY_WEBHOOKS_ALLOW_INSECURE": "true", "TEST_CLOCK": str(clock.path)}
        script = CHECKOUT / "tests" / "gateways" / "clocked.py"
        yield await stack.enter_async_context(running(data, script=script, **settings))


@pytest.fixture
async def nobody(gateway: GatewayProcess) -> AsyncIterator[Client]:
    async with gateway.client() as client:
        yield client


def stored_session(nobody: Client, name: str) -> Client:
    """A user's client of that time, with its token."""
    return Client(nobody.http, nobody.base, KNOWN["tokens"][name], name)


def holds(found: Any, stored: Any) -> bool:
    """Return whether an answer holds all of a stored one; records may have new members."""
    if isinstance(stored, dict):
        members = cast(dict[str, Any], stored)
        return isinstance(found, dict) and all(name in found and holds(found[name], members[name]) for name in members)
    if isinstance(stored, list):
        items = cast(list[Any], stored)
        return len(found) == len(items) and all(map(holds, found, items))
    return found == stored


def settled(body: dict[str, Any]) -> dict[str, Any]:
    """Remove from a record the members that change with each use of a session."""
    moving = ("last_used_at", "expires_at")
    return {name: value for name, value in body.items() if name not in moving}


async def history(client: Client, agent: str) -> list[dict[str, Any]]:
    return (await client.command("AP_History", target={"agent": agent}, page={"limit": 200})).ok().content


# the tests run in order: the first read the stored state, the others continue with it


@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name in KNOWN["reads"] for number in range(len(KNOWN["reads"][name]))]
)
async def test_every_command_reads_what_was_stored(nobody: Client, name: str, number: int):
    before = KNOWN["reads"][name][number]
    answer: Answer = await stored_session(nobody, name).request("POST", BUS, json=before["body"])
    found = [settled(record) for record in answer.ok().profile]
    assert holds(found, [settled(record) for record in before["profile"]])
    if before["body"]["service"] == "MB_Recall":
        require_same_recall(answer.content, before["content"])
    elif before["body"]["service"] == "AP_Read":  # `messages` were those of all users
        (standing,), (stored,) = answer.content, before["content"]
        assert holds(standing, stored | {"messages": standing["messages"]})
        assert standing["messages"] <= stored["messages"]
    else:
        assert holds(answer.content, before["content"])


def require_same_recall(found: list[dict[str, Any]], stored: list[dict[str, Any]]) -> None:
    """Require the best memory of that time and as many as then; today's scores are others, and so is the rest."""
    assert len(found) == len(stored)
    unscored = [{member: value for member, value in record.items() if member != "score"} for record in stored]
    assert holds(found[0], unscored[0])
    known = {record["name"]: record for record in unscored}
    assert all(holds(record, known[record["name"]]) for record in found if record["name"] in known)


@pytest.mark.parametrize("page", KNOWN["pages"]["amelia"], ids=lambda page: page["path"])
async def test_every_route_reads_what_was_stored(nobody: Client, page: dict[str, Any]):
    answer = await stored_session(nobody, "amelia").request("GET", page["path"])
    assert answer.http == 200
    assert holds(answer.body, page["body"])


async def test_the_selection_is_the_session_s(nobody: Client):
    answer = await stored_session(nobody, "amelia").command("US_Read")
    assert answer.context == {"user": "amelia", "agent": "astra", "domain": "observatory", "zone": "lobby"}
    record = answer.profile[0]
    assert (record["description"], record["profile"], record["plan"]) == (
        "Keeps the observatory",
        "Up all night",
        "scale",
    )


@pytest.mark.parametrize("name", KNOWN["tokens"])
async def test_stored_users_log_on_with_their_passwords(nobody: Client, name: str):
    user = await nobody.log_on(name, KNOWN["password"])
    assert (await user.command("US_Read")).ok().profile[0]["name"] == name
    assert (await nobody.command("US_LogOn", target={"user": name}, vx={"secret": "wrong password"})).code == 2002


async def test_a_stored_api_key_works(nobody: Client):
    assert (await Client(nobody.http, nobody.base, KNOWN["api_key"]).command("US_Read")).ok().context[
        "user"
    ] == "amelia"


async def test_a_command_with_a_kept_answer_is_not_carried_out_again_and_its_answer_is_redacted(nobody: Client):
    amelia, once = stored_session(nobody, "amelia"), KNOWN["once"]
    before = await history(amelia, "astra")
    answer = await amelia.request("POST", BUS, json=once["body"], headers={"Idempotency-Key": once["key"]})
    assert (answer.ok().profile, answer.content) == ([], [])  # nothing noted then what it shows
    assert answer.headers["Idempotency-Replayed"] == "true"
    assert await history(amelia, "astra") == before


async def test_a_chat_goes_on_where_it_was(nobody: Client):
    amelia = stored_session(nobody, "amelia")
    before = await history(amelia, "astra")
    target = {"agent": "astra"}
    session = await nobody.log_on("amelia", KNOWN["password"])  # no zone is selected, so it is a private chat
    asked, replied = (await session.command("AP_Chat", target=target, content="Which moon is largest?")).ok().content
    assert [asked["seq"], replied["seq"]] == [before[-1]["seq"] + 1, before[-1]["seq"] + 2]
    assert replied["sources"][0] | {"quote": ""} == {"bank": "star-notes", "name": "Titan", "quote": ""}
    assert await history(amelia, "astra") == [*before, asked, replied]


async def test_a_zone_s_talk_goes_on_where_it_was(nobody: Client):
    bruno = stored_session(nobody, "bruno")
    target = {"domain": "observatory", "zone": "night-watch"}
    before = (await bruno.command("ZN_Read", target=target)).ok().content
    (posted,) = (await bruno.command("ZN_Post", target=target, content="It rose.")).ok().content
    assert posted["seq"] == before[-1]["seq"] + 1


async def test_what_is_censored_stays_censored(nobody: Client, gateway: GatewayProcess):
    amelia = stored_session(nobody, "amelia")
    bank = {"bank": "star-notes"}
    (safe,) = (await amelia.command("MB_Read", target=bank, vx={"name": "Safe"})).ok().content
    assert (safe["censored"], safe["text"]) == (True, None)
    assert (await amelia.command("MB_Recall", target=bank, content="aldebaran safe opens")).ok().content == []
    conversations = await history(amelia, "astra")
    assert "[censored]" in "".join(message["content"] for message in conversations)
    assert "aldebaran" not in json.dumps(conversations)
    (await amelia.command("MB_Load", target=bank, vx={"name": "Safe"}, content="x")).refused(3002, 409)
    assert all(b"aldebaran" not in file.read_bytes() for file in gateway.data.iterdir())


async def test_a_stored_memory_can_be_censored(nobody: Client):
    amelia = stored_session(nobody, "amelia")
    bank = {"bank": "star-notes"}
    (await amelia.command("MB_Censor", target=bank, vx={"name": "Spare key"})).ok()
    assert "sundial" not in json.dumps(await history(amelia, "astra"))
    repeat = KNOWN["once"]
    answer = await amelia.request("POST", BUS, json=repeat["body"], headers={"Idempotency-Key": repeat["key"]})
    assert "sundial" not in json.dumps(answer.body)


async def test_a_stored_offer_is_accepted(nobody: Client):
    clara = stored_session(nobody, "clara")
    target = {"bank": "star-notes", "agent": "gossip"}
    (attached,) = (await clara.command("MB_Accept", target=target)).ok().content
    assert (attached["permission"], attached["state"]) == ("write", "attached")


async def test_a_stored_document_is_loaded(nobody: Client):
    amelia = stored_session(nobody, "amelia")
    (await amelia.command("MB_Create", target={"agent": "astra"}, vx={"name": "workshop"})).ok()
    vx = {"name": "Lenses", "profile": KNOWN["document"]}
    loaded = (await amelia.command("MB_Load", target={"bank": "workshop", "agent": "astra"}, vx=vx)).ok()
    assert len(loaded.content) > 1


async def test_stored_endpoints_sign_with_their_secrets(nobody: Client):
    amelia = stored_session(nobody, "amelia")
    async with receiving() as receiver:
        for endpoint in KNOWN["endpoints"].values():
            path = f"/api/webhooks/endpoints/{endpoint['id']}"
            assert (await amelia.request("PATCH", path, json={"url": receiver.url})).http == 200
        deliveries = (await amelia.request("GET", "/api/webhooks/deliveries?limit=200")).body["deliveries"]
        (waiting,) = [entry for entry in deliveries if entry["next_attempt_at"]]
        retried = await amelia.request("POST", f"/api/webhooks/deliveries/{waiting['id']}/retry")
        assert retried.http in (200, 202), retried.body
        (received,) = await receiver.got(1)
        headers = received.headers
        signer = standardwebhooks.Webhook(KNOWN["endpoints"]["refusing"]["secret"])
        then = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)  # by the gateway's moved clock
        assert signer.sign(headers["webhook-id"], then, received.body.decode()) == headers["webhook-signature"]
        assert received.event["data"] == {"n": 1}


async def test_a_stored_tool_server_is_called_with_its_sealed_header(nobody: Client):
    amelia = stored_session(nobody, "amelia")
    assert words(await invoke(amelia, "elsewhere.header", name="x-team")) == "observatory"


async def test_a_stored_user_is_destroyed_with_all_it_owns(nobody: Client):
    bruno = stored_session(nobody, "bruno")
    (await bruno.command("US_Destroy", vx={"secret": KNOWN["password"]})).ok()
    (await nobody.command("US_LogOn", target={"user": "bruno"}, vx={"secret": KNOWN["password"]})).refused(2002, 401)
    amelia = stored_session(nobody, "amelia")
    listed = (await amelia.command("DM_List")).ok().profile
    assert [domain["name"] for domain in listed] == ["observatory"]


async def test_what_its_agents_had_said_is_marked_in_private_but_not_in_zones_where_only_their_names_were_stored(
    nobody: Client,
):
    amelia = stored_session(nobody, "amelia")
    (conversation,) = [one for one in (await amelia.command("CV_List")).ok().profile if one["agent"] == "tinker"]
    target = {"conversation": conversation["id"]}
    asked, replied = (await amelia.command("AP_History", target=target)).ok().content
    assert ("destroyed_agent" in asked, replied["destroyed_agent"]) == (False, "tinker")
    watch = {"domain": "observatory", "zone": "night-watch"}
    said = (await amelia.command("ZN_Read", target=watch)).ok().content
    assert "tinker" in {message["name"] for message in said}
    assert not [message for message in said if "destroyed_agent" in message]
