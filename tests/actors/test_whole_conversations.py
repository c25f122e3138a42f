"""What was said long ago is found, however long the conversation (docs/contract.md, "Chat engines")."""

import asyncio
import gc
from pathlib import Path

import pytest

from actors.conversations import archive, room
from actors.engines import dialogue_acts
from actors.jobs.indexing import index_talks
from persistence.store import Store
from tests.support.disk import rows, value
from tests.support.in_process import CommandClient, CoreGateway
from tests.support.long_talk import (
    FACT,
    QUESTION,
    QUOTE,
    CountedReads,
    Gate,
    answering,
    ask,
    commit,
    gateway_in,
    kept_in_all,
    reply_to,
    sent,
    talk,
    until_reached,
)
from tests.support.provider import says
from tests.support.stores import ON_POSTGRES


@pytest.fixture(autouse=True)
def nothing_kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep no indexed message in memory, so that all of them are looked up, except in tests of keeping."""
    if "keeping" not in request.node.name:
        monkeypatch.setattr(room, "MAX_KEPT", 0)
        monkeypatch.setattr(room, "MAX_WHOLE", 0)


async def test_keeping_indexed_messages_in_memory_saves_their_look_up(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        await reply_to(user, FACT)
        await talk(user, 300)
        await until_reached(gateway, (2 * 301 - 200) // 64 * 64)
        await commit(gateway, "ALTER TABLE vocabulary RENAME TO elsewhere")
        assert await reply_to(user, QUESTION) == QUOTE
        assert await reply_to(user, "What is my aunt's hobby?") == dialogue_acts.UNKNOWN


async def test_keeping_ends_where_the_process_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    gc.collect()  # what other tests kept is counted until it is collected
    before = kept_in_all()
    monkeypatch.setattr(room, "MAX_KEPT_IN_ALL", before + 100)
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        await reply_to(user, FACT)
        await talk(user, 300)
        await until_reached(gateway, (2 * 301 - 200) // 64 * 64)
        assert kept_in_all() == before + 100
        assert await reply_to(user, QUESTION) == QUOTE
        assert await reply_to(user, "Where did parcel p7 go?") == sent(7)
        await other_talk(gateway)
        assert kept_in_all() == before + 100
        assert await reply_to(user, "Where did parcel p180 go?") == sent(180)
    gc.collect()
    assert kept_in_all() == before


async def other_talk(gateway: CoreGateway) -> None:
    """Have another long conversation, for which there is no room, and find in it what was said first."""
    other = await CommandClient(gateway).register("bob")
    await other.agent("clerk")
    await talk(other, 200)
    async with asyncio.timeout(30):
        while await rows(gateway.core.store, "SELECT 1 FROM collections WHERE reached = 192") == []:
            await asyncio.sleep(0.01)
    assert await reply_to(other, "Where did parcel p7 go?") == sent(7)


async def test_keeping_needs_no_look_up_after_thousands_of_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(room, "MAX_KEPT", 2)
    monkeypatch.setattr(room, "MAX_WHOLE", 3)
    async with gateway_in(tmp_path) as gateway:
        before = kept_in_all()
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        reads = CountedReads(gateway.core)
        await reply_to(user, FACT)
        await ask(user, 1_000)
        for name in ("Rex", "Bello"):
            await reply_to(user, f"One of my dogs is called {name}.")
        await ask(user, 1_000)
        await until_reached(gateway, (2 * 2_003 - 200) // 64 * 64)
        assert kept_in_all() == before + 3
        reads.count = 0
        assert await reply_to(user, QUESTION) == QUOTE
        await ask(user, 3)
        assert reads.count == 0


async def test_keeping_statements_beyond_the_bound_leaves_the_oldest_to_the_look_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(room, "MAX_KEPT", 50)
    monkeypatch.setattr(room, "MAX_WHOLE", 50)
    async with gateway_in(tmp_path) as gateway:
        before = kept_in_all()
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        await reply_to(user, FACT)
        await ask(user, 100)
        await talk(user, 200)
        await until_reached(gateway, (2 * 301 - 200) // 64 * 64)
        assert kept_in_all() == before + 50
        reads = CountedReads(gateway.core)
        assert await reply_to(user, "Where did parcel p70 go?") == sent(70)
        assert reads.count == 0
        assert await reply_to(user, QUESTION) == QUOTE
        assert await reply_to(user, "Where did parcel p7 go?") == sent(7)
        assert reads.count > 0


async def test_a_fact_is_found_after_five_thousand_later_messages_and_after_a_restart(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        await reply_to(user, FACT)
        await talk(user, 2_500)
        assert await reply_to(user, QUESTION) == QUOTE
        assert await reply_to(user, "Where did parcel p7 go?") == sent(7)
        assert await reply_to(user, "What is my aunt's hobby?") == dialogue_acts.UNKNOWN
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).log_on("ada")
        assert await reply_to(user, QUESTION, agent="scout") == QUOTE
    async with (
        answering(QUESTION, "It is quartz-7731.") as (provider, engine),
        gateway_in(tmp_path, engine=engine) as gateway,
    ):
        user = await CommandClient(gateway).log_on("ada")
        assert await reply_to(user, QUESTION, agent="scout") == "It is quartz-7731."
        provider.on("Thanks!", says("You are welcome."))
        await reply_to(user, "Thanks!", agent="scout")
        request, thanked = provider.requests
        assert "Earlier messages" not in thanked.system
        assert f", ada] {FACT}" in request.system
        assert request.said[-1] == ("user", QUESTION)
        newest = [said for _, said in request.said if said.startswith("Parcel")]
        assert len(newest) > 90
        assert not any(said in request.system for said in newest)


@pytest.mark.parametrize("chats", [101, 140, 231])
async def test_what_left_the_window_is_found_before_and_after_it_is_indexed_and_after_a_restart(
    tmp_path: Path, chats: int
):
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        await reply_to(user, FACT)
        await talk(user, chats)
        assert await reply_to(user, QUESTION) == QUOTE
        await until_reached(gateway, (2 * chats + 4 - 200) // 64 * 64)
        assert await reply_to(user, QUESTION) == QUOTE
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).log_on("ada")
        assert await reply_to(user, QUESTION, agent="scout") == QUOTE
        await talk(user, 40, first=chats, target={"agent": "scout"})
        for number in (0, chats - 1, chats):
            assert await reply_to(user, f"Where did parcel p{number} go?", agent="scout") == sent(number)


async def test_what_goes_on_with_an_answer_or_corrects_it_is_found_with_it_after_a_restart(tmp_path: Path):
    depot, trevor = "Trevor runs the depot in Leeds.", "He is a cousin of Declan's."
    hamper, fewer = "The hamper holds nine cheeses.", "Sorry, it's seven."
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        for message in (depot, trevor, hamper, fewer):
            await reply_to(user, message)
        await talk(user, 170)
        await until_reached(gateway, 128)
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).log_on("ada")
        asked = await reply_to(user, "Who runs the depot in Leeds?", agent="scout")
        assert asked == f"You said: “{depot}”\nThen you said: “{trevor}”"
        asked = await reply_to(user, "How many cheeses does the hamper hold?", agent="scout")
        assert asked.startswith(f"You said: “{fewer}”")


async def test_a_told_dialogue_is_looked_up_in_as_much_context_as_a_bank(tmp_path: Path):
    said = ["Ada: We saw a shed at the market.", "Ben: And what was the price?", "Ada: Ninety, with the gutter."]
    others = [
        "Cid: That shed leaks.",
        "Dora: I know.",
        "Cid: Oh.",
        "Eli: Every price went up.",
        "Dora: True.",
        "Eli: Yes.",
    ]
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        for turn in said + others * 9:
            await reply_to(user, turn)
        await talk(user, 130)
        await until_reached(gateway, 128)
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).log_on("ada")
        assert "Ninety" in await reply_to(user, "What was the price of the shed at first?", agent="scout")


BREAK = (
    (
        "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'",
        "CREATE TRIGGER broken BEFORE INSERT ON collections FOR EACH ROW EXECUTE FUNCTION broken()",
    )
    if ON_POSTGRES
    else ("CREATE TRIGGER broken BEFORE INSERT ON collections BEGIN SELECT raise(FAIL, 'no'); END",)
)


async def test_an_index_that_can_not_be_stored_costs_no_chat_and_is_made_up_for(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        await reply_to(user, FACT)
        await commit(gateway, *BREAK)
        await talk(user, 150)
        assert await reply_to(user, QUESTION) == QUOTE
        assert await value(gateway.core.store, "SELECT count(*) FROM collections") == 0
        await commit(gateway, "DROP TRIGGER broken@postgres( ON collections)")
        await talk(user, 60, first=150)
        await until_reached(gateway, 192)
        assert await reply_to(user, QUESTION) == QUOTE


async def test_a_conversation_is_searched_for_its_own_user_only(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway:
        ada = await CommandClient(gateway).register("ada")
        await ada.agent("scout", access="public")
        bob = await CommandClient(gateway).register("bob")
        await reply_to(ada, FACT)
        await talk(ada, 150)
        await talk(bob, 150, target={"agent": "scout"})
        assert await reply_to(bob, QUESTION, agent="scout") == dialogue_acts.UNKNOWN
        assert await reply_to(ada, QUESTION) == QUOTE


async def test_a_zone_is_searched_as_far_back_as_it_goes_and_no_other_zone(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        (await user.command("DM_Create", vx={"name": "post-office", "description": "Parcels."})).ok()
        (
            await user.command(
                "ZN_Create", target={"domain": "post-office"}, vx={"name": "cellar", "description": "Below."}
            )
        ).ok()
        await reply_to(user, FACT, domain="post-office")
        for zone in ("lobby", "cellar"):
            for number in range(300):
                where = {"domain": "post-office", "zone": zone}
                (await user.command("ZN_Post", target=where, content=f"Parcel p{number} is in the {zone}.")).ok()
        assert await reply_to(user, QUESTION, domain="post-office", zone="lobby") == QUOTE
        assert await reply_to(user, QUESTION, domain="post-office", zone="cellar") == dialogue_acts.UNKNOWN
        private = (await user.command("AP_Chat", target={"agent": "scout"}, content=QUESTION)).ok().content[1]
        assert (private["zone"], private["content"]) == (None, dialogue_acts.UNKNOWN)
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).log_on("ada")
        assert await reply_to(user, QUESTION, agent="scout", domain="post-office", zone="lobby") == QUOTE


async def test_chats_wait_for_a_look_up_in_their_own_conversation_and_others_go_on(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway:
        ada = await CommandClient(gateway).register("ada")
        await ada.agent("scout", access="public")
        await reply_to(ada, FACT)
        await talk(ada, 150)
        bob = await CommandClient(gateway).register("bob")
        gate = Gate(gateway.core)
        asking = asyncio.create_task(reply_to(ada, QUESTION))
        await gate.reached.wait()
        telling = [asyncio.create_task(reply_to(ada, f"My locker code is number-{n}.")) for n in range(3)]
        assert await reply_to(bob, "Hello!", agent="scout") == await reply_to(bob, "Hello!", agent="scout")
        await asyncio.sleep(0.05)
        assert not asking.done()
        assert not any(task.done() for task in telling)
        gate.opened.set()
        assert await asking == QUOTE
        await asyncio.gather(*telling)
        said = (await ada.command("AP_History", page={"limit": 8})).ok().content
        assert [message["seq"] for message in said] == list(range(303, 311))
        assert [message["content"] for message in said[::2]] == [
            QUESTION,
            *(f"My locker code is number-{n}." for n in range(3)),
        ]


async def test_a_search_that_fails_leaves_the_answer_of_the_window(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        await reply_to(user, FACT)
        await talk(user, 150)
        await commit(gateway, "ALTER TABLE vocabulary RENAME TO elsewhere")
        assert await reply_to(user, QUESTION) == dialogue_acts.UNKNOWN
        await commit(gateway, "ALTER TABLE elsewhere RENAME TO vocabulary")
        assert await reply_to(user, QUESTION) == QUOTE


async def test_an_actor_finds_what_the_job_has_indexed_meanwhile(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        await reply_to(user, FACT)
        await talk(user, 800)
    async with gateway_in(tmp_path) as gateway:
        await commit(gateway, "DELETE FROM collections")  # as stored by 0.2.0
        user = await CommandClient(gateway).log_on("ada")
        assert await reply_to(user, QUESTION, agent="scout") == dialogue_acts.UNKNOWN
        assert await reply_to(user, "Where did parcel p510 go?", agent="scout") == sent(510)
        await index_talks(gateway.core.store)
        assert await reply_to(user, QUESTION, agent="scout") == QUOTE
        await talk(user, 40, first=800, target={"agent": "scout"})
        await until_reached(gateway, 1_406 + 64)
        assert await reply_to(user, "Where did parcel p7 go?", agent="scout") == sent(7)


async def test_a_job_and_an_actor_that_index_at_the_same_time_index_each_message_once(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway:
        store = gateway.core.store
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        await talk(user, 250)
        for first in range(250, 1_000, 250):
            await commit(gateway, "DELETE FROM collections")
            await asyncio.gather(talk(user, 250, first=first), index_talks(store), index_talks(store))
        await index_talks(store)
        reached = await value(store, "SELECT reached FROM collections")
        stated = await value(store, "SELECT count(*) FROM messages WHERE role = 'user' AND seq <= ?", reached)
        assert reached > 1_600
        assert await value(store, "SELECT count(*) FROM indexed_texts") == stated
        assert await value(store, "SELECT texts FROM collections") == stated
        (counts,) = await rows(store, "SELECT sum(documents), (SELECT count(*) FROM postings) FROM vocabulary")
        assert counts[0] == counts[1]


async def test_the_longer_a_conversation_is_the_more_messages_are_indexed_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(archive, "A_MESSAGE_FOR", 1)
    monkeypatch.setattr(archive, "MAX_BATCH", 100)
    async with gateway_in(tmp_path) as gateway:
        store = gateway.core.store
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        await reply_to(user, FACT)
        await talk(user, 300)
        reached, left = [0], 602 - 200
        while left >= (batch := min(max(64, await stated_up_to(store, reached[-1])), 100)):
            reached.append(reached[-1] + batch)
            left -= batch
            await until_reached_at_least(store, reached[-1])
        assert batch == 100
        await until_reached(gateway, reached[-1])
        assert await reply_to(user, QUESTION) == QUOTE


async def stated_up_to(store: Store, seq: int) -> int:
    return await value(store, "SELECT count(*) FROM indexed_texts WHERE document <= ?", seq)


async def until_reached_at_least(store: Store, seq: int) -> None:
    async with asyncio.timeout(60):
        while await value(store, "SELECT coalesce(max(reached), 0) FROM collections") < seq:
            await asyncio.sleep(0.01)


async def test_long_messages_are_indexed_in_small_units(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway:
        store = gateway.core.store
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        await reply_to(user, FACT)
        for number in range(80):
            filler = " ".join(f"w{number}x{word}" for word in range(2_000))
            (await user.command("AP_Chat", content=f"Parcel p{number} went to town t{number}. {filler}")).ok()
        await talk(user, 100, first=80)
        await until_reached_at_least(store, 2 * 180 + 2 - 200 - 64 + 1)
        assert await reply_to(user, QUESTION) == QUOTE
