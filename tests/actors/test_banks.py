"""Memory banks: permissions, loading, recall, censoring (docs/contract.md, "Memory banks")."""

import asyncio
import re
from typing import Any

import pytest

from tests.support.gateway import Client
from tests.support.memories import attachments, grant, load, made_bank, memories, open_to_all, recalled, share
from tests.support.operator import live_actor, on_plan

LEVELS = ["none", "read", "write", "admin"]


@pytest.fixture
async def other(sanic_client: Client, unique: str) -> Client:
    """A second user, logged on."""
    return await sanic_client.register(f"{unique}-other")


@pytest.fixture
def name(unique: str) -> str:
    """A bank name that no other test uses."""
    return f"{unique}-bank"


@pytest.fixture
async def bank(user: Client, unique: str) -> str:
    """A bank of the user with the selected agent `<unique>-keeper` as its admin."""
    return await made_bank(user, unique)


async def listed(client: Client, **body: Any) -> list[str]:
    return [bank["name"] for bank in (await client.command("MB_List", **body)).ok().profile]


# MB_Create


async def test_a_created_bank_has_the_selected_agent_as_its_admin(user: Client, unique: str, name: str):
    await user.agent(f"{unique}-keeper")
    (made,) = (await user.command("MB_Create", vx={"name": name, "description": "Notes"})).ok().profile
    assert re.fullmatch(r"bnk_[0-9a-f]{32}", made.pop("id"))
    assert made.pop("created_at") == made.pop("updated_at")
    assert made == {"name": name, "owner": user.name, "description": "Notes", "access": "agent", "memories": 0}
    assert await attachments(user, name) == {f"{unique}-keeper": "admin"}
    assert await listed(user) == [name]
    assert (await user.command("US_Read")).ok().profile[0]["counts"]["banks"] == 1


async def test_a_bank_may_be_named_by_its_target_and_for_another_agent(user: Client, unique: str, name: str):
    await user.agent(f"{unique}-one")
    await user.agent(f"{unique}-two", select=False)
    (await user.command("MB_Create", target={"bank": name, "agent": f"{unique}-two"})).ok()
    assert await attachments(user, name) == {f"{unique}-two": "admin"}


async def test_what_a_creation_is_refused_for(user: Client, other: Client, unique: str, name: str):
    (await user.command("MB_Create")).refused(1002, 400)
    (await user.command("MB_Create", vx={"name": name})).refused(3003, 409)
    await other.agent(f"{unique}-theirs", access="public")
    foreign = {"agent": f"{unique}-theirs"}
    (await user.command("MB_Create", target=foreign, vx={"name": name})).refused(2003, 403)
    (await user.command("MB_Create", target={"user": other.name}, vx={"name": name})).refused(2003, 403)
    (await user.command("MB_Create", target={"agent": f"{unique}-none"}, vx={"name": name})).refused(3000, 404)
    await user.agent(f"{unique}-keeper")
    (await user.command("MB_Create", vx={"name": "a b"})).refused(1003, 400)
    (await user.command("MB_Create", vx={"name": "a-1"})).refused(2004, 403)
    (await user.command("MB_Create", vx={"name": name})).ok()
    assert "taken" in (await user.command("MB_Create", vx={"name": name.upper()})).refused(3001, 409).note


async def test_of_many_concurrent_creations_of_a_name_one_succeeds(user: Client, unique: str, name: str):
    await user.agent(f"{unique}-keeper")
    answers = await asyncio.gather(*(user.command("MB_Create", vx={"name": name}) for _ in range(20)))
    assert sorted(answer.code for answer in answers) == [0, *[3001] * 19]


# MB_Update, MB_Destroy, MB_List


async def test_an_update_replaces_name_and_description_and_keeps_an_absent_access(user: Client, bank: str):
    await open_to_all(user, bank)
    vx = {"name": f"{bank}-2", "description": "New"}
    (changed,) = (await user.command("MB_Update", target={"bank": bank}, vx=vx)).ok().profile
    assert (changed["name"], changed["description"], changed["access"]) == (f"{bank}-2", "New", "public")
    (await user.command("MB_Read", target={"bank": bank})).refused(3000, 404)
    assert await listed(user) == [f"{bank}-2"]


async def test_what_an_update_is_refused_for(user: Client, bank: str):
    (await user.command("MB_Create", vx={"name": f"{bank}-2"})).ok()
    for given, code, http in (
        ({"name": "x"}, 1002, 400),
        ({"description": "d"}, 1002, 400),
        ({"name": "a b", "description": "d"}, 1003, 400),
        ({"name": "ab1", "description": "d"}, 2004, 403),
        ({"name": f"{bank}-2", "description": "d"}, 3001, 409),
    ):
        (await user.command("MB_Update", target={"bank": bank}, vx=given)).refused(code, http)
    (await user.command("MB_Update", vx={"name": "abcde", "description": "d"})).refused(1002, 400)


async def test_a_destroyed_bank_is_gone_and_its_name_free(user: Client, bank: str):
    (await load(user, bank, "a", "A kept word")).ok()
    (await user.command("MB_Destroy", target={"bank": bank})).ok()
    (await user.command("MB_Read", target={"bank": bank})).refused(3000, 404)
    (await user.command("MB_Create", vx={"name": bank})).ok()
    assert await recalled(user, bank, "kept word") == []


async def test_lists_show_own_banks_and_those_of_own_agents_page_by_page(
    user: Client, other: Client, unique: str, bank: str
):
    for number in range(4):
        (await user.command("MB_Create", vx={"name": f"{bank}-{number}"})).ok()
    names = [bank, *(f"{bank}-{number}" for number in range(4))]
    first = (await user.command("MB_List", page={"limit": 3})).ok()
    rest = (await user.command("MB_List", page={"limit": 3, "cursor": first.next})).ok()
    assert [row["name"] for row in first.profile + rest.profile] == names
    assert rest.next is None
    await other.agent(f"{unique}-reader", access="public")
    assert await listed(other) == []
    await share(user, other, bank, f"{unique}-reader", "read")
    assert await listed(other) == [bank]
    await open_to_all(user, f"{bank}-1")
    assert await listed(other, target={"user": user.name}) == [bank, f"{bank}-1"]
    assert await listed(other, target={"user": user.name, "bank": f"{bank}-".upper()}) == [f"{bank}-1"]
    (await other.command("MB_List", target={"user": f"{unique}-nobody"})).refused(3000, 404)
    (await grant(user, bank, f"{unique}-reader", "none")).ok()
    assert await listed(other) == []
    assert await listed(other, target={"user": user.name}) == [f"{bank}-1"]


# permissions

BODIES: dict[str, dict[str, Any]] = {
    "MB_AgentList": {},
    "MB_Censor": {"vx": {"name": "*"}},
    "MB_Delete": {"vx": {"name": "*"}},
    "MB_Destroy": {},
    "MB_Load": {"vx": {"name": "new"}, "content": "New text"},
    "MB_Permissions": {},
    "MB_Read": {},
    "MB_Recall": {"content": "text"},
    "MB_Update": {"vx": {"name": "", "description": "d"}},
}
LEAST = {
    "MB_AgentList": "read",
    "MB_Censor": "admin",
    "MB_Delete": "admin",
    "MB_Destroy": "owner",
    "MB_Load": "write",
    "MB_Permissions": "read",
    "MB_Read": "read",
    "MB_Recall": "read",
    "MB_Update": "admin",
}


@pytest.mark.parametrize("permission", LEVELS)
@pytest.mark.parametrize("service", BODIES)
@pytest.mark.parametrize("access", ["agent", "public"])
async def test_each_operation_takes_its_permission(
    user: Client, other: Client, unique: str, bank: str, service: str, permission: str, access: str
):
    await other.agent(f"{unique}-guest", access="public")
    if permission != "none":
        await share(user, other, bank, f"{unique}-guest", permission)
    if access == "public":
        await open_to_all(user, bank)
    body = {"target": {"bank": bank}, **BODIES[service]}
    if service == "MB_Update":
        body["vx"] = {"name": bank, "description": "d"}
    answer = await other.command(service, **body)
    if permission == "none" and access == "agent":
        answer.refused(3000, 404)
    elif LEVELS.index(permission) < [*LEVELS, "owner"].index(LEAST[service]):
        answer.refused(2003, 403)
    else:
        answer.ok()


@pytest.mark.parametrize("service", BODIES)
async def test_a_bank_that_is_not_there_is_3000_for_every_operation(user: Client, unique: str, service: str):
    await user.agent(f"{unique}-keeper")
    body = {"target": {"bank": f"{unique}-nothing"}, **BODIES[service]}
    if service == "MB_Update":
        body["vx"] = {"name": "abcde", "description": "d"}
    (await user.command(service, **body)).refused(3000, 404)
    body["target"] = {}
    assert "target.bank" in (await user.command(service, **body)).refused(1002, 400).note


@pytest.mark.parametrize("own", ["read", "write", "admin"])
@pytest.mark.parametrize("granted", LEVELS)
async def test_nobody_grants_above_their_own_permission(
    user: Client, other: Client, unique: str, bank: str, own: str, granted: str
):
    await other.agent(f"{unique}-guest", access="public")
    await other.agent(f"{unique}-friend", access="public", select=False)
    await share(user, other, bank, f"{unique}-guest", own)
    answer = await grant(other, bank, f"{unique}-friend", granted)
    if LEVELS.index(granted) > LEVELS.index(own):
        answer.refused(2003, 403)
    else:
        answer.ok()
        assert (await attachments(user, bank))[f"{unique}-friend"] == granted


async def test_only_an_admin_changes_what_another_s_agent_may_do(user: Client, other: Client, unique: str, bank: str):
    await other.agent(f"{unique}-guest", access="public")
    await share(user, other, bank, f"{unique}-guest", "write")
    (await grant(other, bank, f"{unique}-keeper", "read")).refused(2003, 403)
    (await other.command("MB_Permissions", target={"bank": bank}, vx={"access": "public"})).refused(2003, 403)
    (await grant(other, bank, f"{unique}-guest", "admin")).refused(2003, 403)
    (await grant(other, bank, f"{unique}-guest", "read")).ok()  # one's own permission may be lowered, but not raised
    (await grant(other, bank, f"{unique}-guest", "write")).refused(2003, 403)
    await share(user, other, bank, f"{unique}-guest", "admin")
    (await grant(other, bank, f"{unique}-keeper", "none")).ok()
    assert (await recalled(user, bank, "the owner may do everything")) == []


async def test_who_may_only_grant_sets_no_access_beside_it(user: Client, other: Client, unique: str, bank: str):
    await other.agent(f"{unique}-guest", access="public")
    await other.agent(f"{unique}-friend", access="public", select=False)
    await share(user, other, bank, f"{unique}-guest", "write")
    target, vx = {"bank": bank, "agent": f"{unique}-friend"}, {"access": "public", "permission": "read"}
    (await other.command("MB_Permissions", target=target, vx=vx)).refused(2003, 403)
    (read,) = (await user.command("MB_Permissions", target={"bank": bank})).ok().profile
    assert read["access"] == "agent"
    assert f"{unique}-friend" not in await attachments(user, bank)


@pytest.mark.parametrize("plan", ["free", "scale"])
async def test_permissions_set_access_and_attachment_in_one_go(
    user: Client, other: Client, unique: str, bank: str, plan: str
):
    await on_plan(user, plan)  # on scale an audit row is stored with the change
    await other.agent(f"{unique}-guest", access="public")
    target = {"bank": bank, "agent": f"{unique}-guest"}
    answer = (await user.command("MB_Permissions", target=target, vx={"access": "public", "permission": "read"})).ok()
    assert answer.profile[0]["access"] == "public"
    assert answer.profile == (await user.command("MB_AgentList", target={"bank": bank})).ok().profile
    assert {row["agent"]: row["permission"] for row in answer.content} == {
        f"{unique}-guest": "read",
        f"{unique}-keeper": "admin",
    }
    (await user.command("MB_Permissions", target=target, vx={"permission": "all"})).refused(1003, 400)
    (await grant(user, bank, f"{unique}-nobody", "read")).refused(3000, 404)


async def test_access_bank_lets_in_who_shares_a_bank_with_an_admin(user: Client, other: Client, unique: str, bank: str):
    await other.agent(f"{unique}-guest", access="public")
    shared = f"{bank}-shared"
    (await user.command("MB_Create", vx={"name": shared})).ok()
    (await user.command("MB_Permissions", target={"bank": bank}, vx={"access": "bank"})).ok()
    (await other.command("MB_Read", target={"bank": bank})).refused(3000, 404)
    await share(user, other, shared, f"{unique}-guest", "read")
    (await other.command("MB_Read", target={"bank": bank})).refused(2003, 403)
    assert await listed(other, target={"user": user.name}) == [bank, shared]
    (await grant(user, shared, f"{unique}-guest", "none")).ok()
    (await other.command("MB_Read", target={"bank": bank})).refused(3000, 404)


async def test_none_leaves_an_agent_in_the_list_that_has_the_bank_no_more(user: Client, unique: str, facts: str):
    keeper = {"agent": f"{unique}-keeper"}
    assert (await user.command("AP_Read", target=keeper)).ok().content[0]["banks"] == [facts]
    (await grant(user, facts, f"{unique}-keeper", "none")).ok()
    assert (await attachments(user, facts))[f"{unique}-keeper"] == "none"
    assert (await user.command("AP_Read", target=keeper)).ok().content[0]["banks"] == []
    said = (await user.command("AP_Chat", target=keeper, content="How far is the Moon?")).ok().content[1]
    assert said["sources"] == []


# MB_Unload


async def test_an_agent_leaves_by_its_owner_or_by_an_admin(user: Client, other: Client, unique: str, bank: str):
    await other.agent(f"{unique}-guest", access="public")
    for who, target in ((other, {"bank": bank}), (user, {"bank": bank, "agent": f"{unique}-guest"})):
        await share(user, other, bank, f"{unique}-guest", "read")
        (await who.command("MB_Unload", target=target)).ok()
        assert await attachments(user, bank) == {f"{unique}-keeper": "admin"}
    (await user.command("MB_Unload", target={"bank": bank, "agent": f"{unique}-guest"})).refused(3002, 409)
    await share(user, other, bank, f"{unique}-guest", "read")
    (await other.command("MB_Unload", target={"bank": bank, "agent": f"{unique}-keeper"})).refused(2003, 403)


async def test_an_agent_list_of_one_agent(user: Client, unique: str, bank: str):
    target = {"bank": bank, "agent": f"{unique}-keeper"}
    answer = (await user.command("MB_AgentList", target=target)).ok()
    assert [row["agent"] for row in answer.content] == [f"{unique}-keeper"]
    (await user.command("MB_AgentList", target=target | {"agent": "nobody"})).refused(3000, 404)


# MB_Load, MB_Read, MB_Delete


async def test_a_loaded_memory_is_kept_and_replaced_by_name(user: Client, unique: str, bank: str):
    first = (await load(user, bank, "The Moon's distance", "384,000 km")).ok()
    (made,) = first.content
    assert re.fullmatch(r"mem_[0-9a-f]{32}", made["id"])
    assert made["author"] == f"{unique}-keeper"
    assert not made["censored"]
    assert first.profile[0]["memories"] == 1
    second = (await load(user, bank, "The Moon's distance", "384,400 km")).ok()
    assert second.content[0]["id"] == made["id"]
    assert second.profile[0]["memories"] == 1
    vx = {"name": "second", "description": "By its description"}
    (await user.command("MB_Load", target={"bank": bank}, vx=vx)).ok()
    kept = await memories(user, bank)
    assert {name: memory["text"] for name, memory in kept.items()} == {
        "The Moon's distance": "384,400 km",
        "second": "By its description",
    }
    one = (await user.command("MB_Read", target={"bank": bank}, vx={"name": "second"})).ok()
    assert [memory["name"] for memory in one.content] == ["second"]
    (await user.command("MB_Read", target={"bank": bank}, vx={"name": "third"})).refused(3000, 404)


async def test_what_a_load_is_refused_for(user: Client, other: Client, unique: str, bank: str):
    (await user.command("MB_Load", target={"bank": bank}, content="text")).refused(1002, 400)
    (await user.command("MB_Load", target={"bank": bank}, vx={"name": "n"})).refused(3000, 404)
    (await load(user, bank, "n" * 201, "text")).refused(1003, 400)
    (await load(user, bank, "n", "x" * 32_001)).refused(1003, 400)
    await other.agent(f"{unique}-guest", access="public")
    await share(user, other, bank, f"{unique}-guest", "write")
    (await load(user, bank, "n", "text", agent=f"{unique}-guest")).refused(2003, 403)
    await other.agent(f"{unique}-second", access="public", select=False)
    (await load(other, bank, "n", "text", agent=f"{unique}-second")).refused(2003, 403)
    (await load(other, bank, "n", "text")).ok()


async def test_the_owner_s_agents_attach_with_write_when_they_load(user: Client, unique: str, bank: str):
    await user.agent(f"{unique}-helper", select=False)
    (await load(user, bank, "a", "text", agent=f"{unique}-helper")).ok()
    assert (await attachments(user, bank))[f"{unique}-helper"] == "write"


async def test_concurrent_loads_of_one_name_leave_one_memory(user: Client, bank: str):
    answers = await asyncio.gather(*(load(user, bank, "same", f"text {number}") for number in range(20)))
    assert {answer.code for answer in answers} == {0}
    assert (await user.command("MB_Read", target={"bank": bank})).ok().profile[0]["memories"] == 1
    assert len(await memories(user, bank)) == 1


async def test_memories_are_read_page_by_page_in_the_order_of_loading(user: Client, bank: str):
    await on_plan(user, "builder")
    for number in range(5):
        (await load(user, bank, f"memory {9 - number}", "text")).ok()
    seen: list[str] = []
    cursor = None
    while True:
        answer = (await user.command("MB_Read", target={"bank": bank}, page={"limit": 2, "cursor": cursor})).ok()
        seen += [memory["name"] for memory in answer.content]
        if (cursor := answer.next) is None:
            break
    assert seen == [f"memory {9 - number}" for number in range(5)]


async def test_memories_are_deleted_by_name_by_author_or_all(user: Client, unique: str, bank: str):
    await user.agent(f"{unique}-helper", select=False)
    for memory, agent in (("a", "keeper"), ("b", "keeper"), ("c", "helper"), ("d", "helper")):
        (await load(user, bank, memory, f"word {memory}", agent=f"{unique}-{agent}")).ok()
    answer = (await user.command("MB_Delete", target={"bank": bank}, vx={"name": "a"})).ok()
    assert answer.profile[0]["memories"] == 3
    (await user.command("MB_Delete", target={"bank": bank}, vx={"name": "a"})).refused(3000, 404)
    (await user.command("MB_Delete", target={"bank": bank, "agent": f"{unique}-helper"})).ok()
    assert list(await memories(user, bank)) == ["b"]
    assert await recalled(user, bank, "word") == ["b"]
    answer = (await user.command("MB_Delete", target={"bank": bank}, vx={"name": "*"})).ok()
    assert (answer.profile[0]["memories"], answer.content) == (0, [{"memories": 1}])
    assert await memories(user, bank) == {}


# MB_Recall

FACTS = {
    "moon": "The Moon is 384,400 km away from the Earth on average.",
    "zurich": "Zürich ist die größte Stadt der Schweiz.",
    "cafe": "Le café préféré de Marie est le Café de Flore.",
    "tokyo": "東京は日本の首都です。",
    "rex": "The dog of Ada is called Rex and eats carrots.",
}


@pytest.fixture
async def facts(user: Client, bank: str) -> str:
    """A bank with a few memories."""
    for name, text in FACTS.items():
        (await load(user, bank, name, text)).ok()
    return bank


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("How far is the Moon?", "moon"),
        ("Was weißt du über ZURICH?", "zurich"),
        ("zürich", "zurich"),
        ("Où est le cafe de Marie ?", "cafe"),
        ("東京", "tokyo"),
        ("What do dogs eat? A carrot?", "rex"),
    ],
)
async def test_recall_finds_what_is_asked_for(user: Client, facts: str, query: str, best: str):
    assert (await recalled(user, facts, query))[0] == best


HOSTILE = [
    '"',
    '" OR "',
    "moon AND",
    "NEAR(moon earth, 2)",
    "terms: moon",
    "-moon ^moon moon*",
    "(((((",
    "moon' ; DROP TABLE memories; --",
    "?!.,;:()[]{}*^~\\/",
    "😀🎉👩‍👩‍👧",
    "x" * 32_000,
    "moon " * 6_400,
    " ".join(f"word{number}" for number in range(3_000)),
    "\u202e\u0301\u200d\ufeff",
    "\U000e0041\U0010ffff",
]


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
async def test_any_text_is_a_safe_query(user: Client, facts: str, query: str):
    found = await recalled(user, facts, query)
    assert set(found) <= set(FACTS)
    if "moon" in query:
        assert found[0] == "moon"
    if not re.search(r"\w", query):
        assert found == []


async def test_any_text_is_a_safe_memory(user: Client, bank: str):
    for number, text in enumerate(HOSTILE):
        (await load(user, bank, f"{text[:150]}{number}", text)).ok()
    assert len(await memories(user, bank)) == len(HOSTILE)


async def test_recall_answers_scores_best_first_up_to_the_limit(user: Client, bank: str):
    await on_plan(user, "builder")
    for number in range(8):
        (await load(user, bank, f"note {number}", f"An apple and {number} pears")).ok()
    answer = (await user.command("MB_Recall", target={"bank": bank}, content="apple pears 3")).ok()
    scores = [memory["score"] for memory in answer.content]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    assert answer.content[0]["name"] == "note 3"
    assert len(await recalled(user, bank, "apple", limit=7)) == 7
    (await user.command("MB_Recall", target={"bank": bank})).refused(1002, 400)


async def test_recall_keeps_to_its_bank(user: Client, facts: str):
    other = f"{facts}-2"
    (await user.command("MB_Create", vx={"name": other})).ok()
    (await load(user, other, "moon two", "Another moon text")).ok()
    assert await recalled(user, other, "moon") == ["moon two"]
    assert await recalled(user, facts, "moon") == ["moon"]


async def test_a_replaced_memory_is_found_by_its_new_words_only(user: Client, bank: str):
    (await load(user, bank, "pet", "The dog is Rex")).ok()
    (await load(user, bank, "pet", "The cat is Tom")).ok()
    assert await recalled(user, bank, "dog Rex") == []
    assert await recalled(user, bank, "cat Tom") == ["pet"]


# chat


async def test_an_agent_recalls_its_banks_in_chat_and_names_its_source(user: Client, unique: str, facts: str):
    answer = (await user.command("AP_Chat", content="How far is the Moon?")).ok()
    assert {"bank": facts, "name": "moon", "quote": FACTS["moon"]} in answer.content[1]["sources"]
    standing = (await user.command("AP_Read")).ok().content[0]
    assert standing["banks"] == [facts]
    (await user.command("MB_Unload", target={"bank": facts})).ok()
    again = (await user.command("AP_Chat", content="How heavy is the Moon?")).ok()
    assert all("bank" not in source for source in again.content[1]["sources"])
    assert (await user.command("AP_Read")).ok().content[0]["banks"] == []


async def test_of_memories_that_fit_equally_well_that_of_the_owner_s_bank_is_told(
    user: Client, other: Client, unique: str, bank: str
):
    agent, foreign = f"{unique}-guest", f"{unique}-foreign"
    await user.agent(agent, access="public")
    await other.agent(f"{unique}-other-keeper")
    (await other.command("MB_Create", vx={"name": foreign, "access": "public"})).ok()
    await share(other, user, foreign, agent, "read")
    (await grant(user, bank, agent, "write")).ok()
    (await load(other, foreign, "door", "Our door code is 2222.")).ok()
    (await load(user, bank, "door", "Our door code is 1111.")).ok()
    for number in range(3):  # rarer words score higher, and they are rarer in a larger bank
        (await load(other, foreign, f"filler-{number}", f"Unrelated filler number {number} about gardens.")).ok()
    chat = await user.command("AP_Chat", target={"agent": agent}, content="What is our door code?")
    assert "1111" in chat.ok().content[1]["content"]


async def test_an_agent_tells_of_a_bank_only_to_those_who_may_see_it(
    user: Client, other: Client, unique: str, facts: str
):
    (await user.command("AP_Modify", vx={"access": "public"})).ok()
    target = {"agent": f"{unique}-keeper"}
    told = (await other.command("AP_Chat", target=target, content="How far is the Moon?")).ok()
    assert told.content[1]["sources"] == []
    assert (await other.command("AP_Read", target=target)).ok().content[0]["banks"] == []
    await open_to_all(user, facts)
    told = (await other.command("AP_Chat", target=target, content="How far is the Moon now?")).ok()
    assert told.content[1]["sources"][0]["bank"] == facts


# MB_Censor


async def test_a_censored_memory_is_a_tombstone_that_comes_back_nowhere(user: Client, unique: str, facts: str):
    (await user.command("AP_Chat", content="How far is the Moon?")).ok()
    (await user.command("MB_Censor", target={"bank": facts}, vx={"name": "moon"})).ok()
    tomb = (await memories(user, facts))["moon"]
    assert (tomb["text"], tomb["censored"], tomb["author"]) == (None, True, f"{unique}-keeper")
    assert await recalled(user, facts, "How far is the Moon?") == []
    said = (await user.command("AP_Chat", content="How far is the Moon again?")).ok()
    history = (await user.command("AP_History")).ok()
    read = (await user.command("MB_Read", target={"bank": facts})).ok()
    actors = [
        await live_actor(user, kind, record["id"])
        for kind, record in (("bank", read.profile[0]), ("agent", history.profile[0]))
    ]
    for answer in (said, history, read, *actors):
        assert "384,400" not in str(answer.body)
    (quoting,) = [message for message in history.content if any("bank" in source for source in message["sources"])]
    assert quoting["sources"][0] == {"bank": facts, "name": "moon", "quote": "[censored]"}
    (await load(user, facts, "moon", "Back again")).refused(3002, 409)
    (await user.command("MB_Censor", target={"bank": facts}, vx={"name": "moon"})).ok()  # no erasing is pending


async def test_who_may_censor_what(user: Client, other: Client, unique: str, facts: str):
    await other.agent(f"{unique}-guest", access="public")
    await share(user, other, facts, f"{unique}-guest", "write")
    (await load(other, facts, "theirs", "Written by the guest")).ok()
    target = {"bank": facts}
    (await other.command("MB_Censor", target=target, vx={"name": "moon"})).refused(2003, 403)
    (await other.command("MB_Censor", target=target, vx={"name": "*"})).refused(2003, 403)
    (await other.command("MB_Censor", target=target | {"agent": f"{unique}-keeper"})).refused(2003, 403)
    (await other.command("MB_Censor", target=target, vx={"name": "nothing"})).refused(3000, 404)
    (await other.command("MB_Censor", target=target | {"agent": f"{unique}-guest"})).ok()
    assert [name for name, memory in (await memories(user, facts)).items() if memory["censored"]] == ["theirs"]
    (await user.command("MB_Censor", target=target, vx={"name": "*"})).ok()
    assert all(memory["censored"] for memory in (await memories(user, facts)).values())


async def test_a_streaming_engine_s_agent_has_its_banks_too(scripted_user: Client, unique: str, name: str):
    await scripted_user.agent(f"{unique}-keeper")
    (await scripted_user.command("MB_Create", vx={"name": name})).ok()
    (await load(scripted_user, name, "moon", FACTS["moon"])).ok()
    answer = (await scripted_user.command("AP_Chat", content="recall:moon")).ok()
    assert answer.content[1]["content"] == "moon"


# removal with agents and users


async def test_a_destroyed_agent_leaves_its_banks_and_its_memories_stay(user: Client, unique: str, facts: str):
    await user.agent(f"{unique}-helper", select=False)
    (await load(user, facts, "help", "text", agent=f"{unique}-helper")).ok()
    (await user.command("AP_Destroy", target={"agent": f"{unique}-helper"})).ok()
    assert await attachments(user, facts) == {f"{unique}-keeper": "admin"}
    assert (await memories(user, facts))["help"]["author"] is None


async def test_a_destroyed_user_s_banks_and_attachments_go(user: Client, other: Client, unique: str, facts: str):
    await other.agent(f"{unique}-guest", access="public")
    await share(user, other, facts, f"{unique}-guest", "read")
    (await other.command("MB_Create", vx={"name": f"{facts}-theirs"})).ok()
    (await other.command("US_Destroy", vx={"secret": "correct horse battery"})).ok()
    assert await attachments(user, facts) == {f"{unique}-keeper": "admin"}
    (await user.command("MB_Create", vx={"name": f"{facts}-theirs"})).ok()


async def test_agents_with_access_bank_are_seen_by_those_who_share_a_bank(
    user: Client, other: Client, unique: str, bank: str
):
    keeper = {"agent": f"{unique}-keeper"}
    (await user.command("AP_Modify", vx={"access": "bank"})).ok()
    await other.agent(f"{unique}-guest", access="public")
    (await other.command("AP_Read", target=keeper)).refused(3000, 404)
    (await other.command("AP_Chat", target=keeper, content="Hello")).refused(3000, 404)
    await share(user, other, bank, f"{unique}-guest", "read")
    (await other.command("AP_Read", target=keeper)).ok()
    (await other.command("AP_Chat", target=keeper, content="Hello")).ok()
    (await other.command("AP_LogOff", target=keeper)).refused(2003, 403)
    (await other.command("AP_Add", target=keeper)).ok()
    (await other.command("AP_Select", target=keeper)).ok()
    (await other.command("AP_Chat", content="Hello")).ok()
    seen = (await other.command("AP_List", target={"user": user.name})).ok()
    assert [agent["name"] for agent in seen.profile] == [f"{unique}-keeper"]
    assert len((await other.command("AP_List")).ok().profile) == 2
    for agent, back in ((keeper["agent"], "admin"), (f"{unique}-guest", "read")):  # none is as good as not attached
        (await grant(user, bank, agent, "none")).ok()
        (await other.command("AP_Read", target=keeper)).refused(3000, 404)
        (await grant(user, bank, agent, back)).ok()
        if agent != keeper["agent"]:
            (await other.command("MB_Accept", target={"bank": bank, "agent": agent})).ok()
        (await other.command("AP_Read", target=keeper)).ok()
    (await user.command("MB_Unload", target={"bank": bank, "agent": f"{unique}-guest"})).ok()
    (await other.command("AP_Chat", content="Hello")).refused(3003, 409)
    (await other.command("AP_Read", target=keeper)).refused(3000, 404)
    assert len((await other.command("AP_List")).ok().profile) == 1
