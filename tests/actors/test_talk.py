"""talk(): how the doors' messages find their conversation, and how repeats find their run."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import structs

from actors.agents import conversations_in_use
from actors.agents.conversation_messages import EraseConversation, FindBound
from actors.agents.keyed_runs import JUST_ENDED_MS
from actors.agents.messages import ReadAgent, SendChat, SetOnline
from actors.agents.remembered import MOST_OF_USER
from actors.calls.call import Call
from actors.commands.conversations import forked
from actors.commands.talk import IMPORTED, KEY_MS, Saying, Talked, key_digest, talk
from actors.conversations.conversation import ChatSent, RunBegun
from actors.conversations.ids import conversation_id, number_of
from actors.conversations.place import ChatPlace, Earlier, RunKey
from actors.core import Core
from actors.engines.turn import Turn
from actors.errors import EngineFailed, NotFound, StateConflict
from actors.jobs.expiry import remove_expired
from actors.sessions.messages import Caller
from actors.users.messages import CreateAgent
from persistence import conversations, own_conversations
from persistence.conversations import ConversationRow
from persistence.store import Query
from persistence.users import UserRow
from tests.gateways.gate import Gate
from tests.gateways.scripted import ScriptedEngine
from tests.support.clock import MovableClock
from tests.support.core import make_user, open_core

KEY = RunKey(key_digest("usr", "key"), "print")


class Room(NamedTuple):
    """A core with a user and its agent."""

    core: Core
    user: UserRow
    agent: str

    def call(self, user: UserRow | None = None) -> Call:
        """Make the call of a door's request."""
        call = Call(self.core, "request", address="")
        user = user or self.user
        call.sent_by(Caller("ses_1", user.id, user.name))
        return call

    async def say(self, content: str, **more: object) -> Talked:
        """Say something, as a door does."""
        saying = structs.replace(Saying(content), **more)  # pyright: ignore[reportArgumentType]
        return await talk(self.call(), self.agent, saying)

    async def texts(self, conversation: str | None) -> list[tuple[str, str]]:
        """Read a conversation's stored messages: role and text."""
        number = number_of(conversation or "")
        assert number is not None
        rows = await self.core.store.fetch(conversations.page_before(number, 2**62, 1_000))
        assert [row.seq for row in reversed(rows)] == list(range(1, len(rows) + 1))
        return [(row.role, row.content) for row in reversed(rows)]

    async def conversations(self) -> int:
        """Count the conversations that are stored."""
        return (await self.core.store.fetch(Query("SELECT count(*) FROM conversations", (), lambda row: row[0])))[0]


async def furnished(core: Core) -> Room:
    """Make a user and its agent."""
    user = await make_user(core, "ada")
    agent = await core.directory.ask("user", user.id, CreateAgent("scout", "", "The Moon is far.", "agent"))
    await core.directory.ask("agent", agent.id, SetOnline(user.id, True))
    return Room(core, user, agent.id)


@pytest.fixture
async def room(core: Core) -> Room:
    return await furnished(core)


@pytest.fixture
async def scripted(tmp_path: Path) -> AsyncIterator[Room]:
    async with open_core(tmp_path / "scripted", engine=ScriptedEngine()) as core:
        yield await furnished(core)


def history(*turns: Talked) -> tuple[Earlier, ...]:
    """Return what a client that keeps its own history sends with the next message."""
    return tuple(Earlier(message.role, message.content) for turn in turns for message in (turn.message, turn.reply))


# where a message goes


async def shown(room: Room) -> list[int]:
    """List the numbers of the conversations that the user sees."""
    listed = await room.core.store.fetch(own_conversations.listed(room.user.id, None, 2**62, None, 9))
    return [row.number for _, row in listed]


async def source_of(room: Room, content: str = "Where is the Moon?") -> ConversationRow:
    """Begin a conversation with a message, and return it."""
    number = number_of((await room.say(content)).conversation or "")
    assert number is not None
    return (await room.core.store.fetch(conversations.of_user(number, room.user.id)))[0]


async def test_a_fork_is_seen_with_the_message_for_which_it_is_made(room: Room):
    source = await source_of(room)
    async with forked(room.call(), source, 2) as fork:
        assert await shown(room) == [source.number]
        said = await room.say("Is it far?", fork=fork, client_id="mine")
    assert await shown(room) == [fork.number, source.number]
    assert [text for _, text in await room.texts(said.conversation)][::2] == ["Where is the Moon?", "Is it far?"]
    on = await room.say("Really?", client_id="mine")
    assert on.conversation == said.conversation
    assert len(await room.texts(said.conversation)) == 6
    view = await room.core.directory.ask("agent", room.agent, ReadAgent(room.user.id))
    assert view.messages == 8


async def test_a_fork_in_which_nothing_is_said_is_none(room: Room):
    source = await source_of(room)

    async def refused(upto: int) -> None:
        async with forked(room.call(), source, upto) as fork:
            await room.core.directory.ask("agent", room.agent, SetOnline(room.user.id, False))
            await room.say("Is it far?", fork=fork)

    for upto in (0, 2):
        with pytest.raises(StateConflict):
            await refused(upto)
        await room.core.directory.ask("agent", room.agent, SetOnline(room.user.id, True))
    assert await room.conversations() == 1


async def test_a_fork_goes_with_its_source_and_disturbs_nobody(scripted: Room, tmp_path: Path):
    source = await source_of(scripted, "say:One")
    gate = Gate(tmp_path / "gate")
    other = asyncio.create_task(scripted.say(f"wait:{gate} say:Two"))
    await gate.reached()

    async def erased_meanwhile() -> None:
        async with forked(scripted.call(), source, 2) as fork:
            saying = asyncio.create_task(scripted.say("say:Three", fork=fork))
            await asyncio.sleep(0)  # the agent begins to load the fork
            await scripted.core.directory.ask("agent", scripted.agent, EraseConversation(source))
            await saying

    with pytest.raises(NotFound):
        await erased_meanwhile()
    gate.open()
    assert (await other).reply.content == "Two"
    assert await scripted.conversations() == 1


async def test_a_message_without_a_history_begins_a_conversation(room: Room):
    first, second = await room.say("Hello"), await room.say("Hello")
    assert first.conversation != second.conversation
    assert await room.texts(first.conversation) == [("user", "Hello"), ("agent", first.reply.content)]


async def test_a_conversation_is_found_by_its_whole_text(room: Room):
    first = await room.say("My dog is called Rex.")
    second = await room.say("And my cat is Tom.", earlier=history(first), matches=True)
    third = await room.say("Who is Rex?", earlier=history(first, second), matches=True)
    assert first.conversation == second.conversation == third.conversation
    assert len(await room.texts(first.conversation)) == 6


async def test_white_space_outside_and_the_form_of_letters_do_not_matter(room: Room):
    first = await room.say("I like cafe\u0301s.")
    sent = (Earlier("user", " I like caf\u00e9s. \n"), Earlier("agent", first.reply.content))
    assert (await room.say("So?", earlier=sent, matches=True)).conversation == first.conversation


async def test_an_edited_or_shortened_history_begins_a_branch_and_the_old_one_stays(room: Room):
    first = await room.say("My dog is called Rex.")
    second = await room.say("I live in Ulm.", earlier=history(first), matches=True)
    edited = (Earlier("user", "My dog is called Max."), *history(first)[1:])
    branch = await room.say("Who am I?", earlier=edited, matches=True)
    regenerated = await room.say("I live in Ulm.", earlier=history(first), matches=True)
    end_only = await room.say("Hm?", earlier=history(second), matches=True)
    found = {turn.conversation for turn in (first, branch, regenerated, end_only)}
    assert len(found) == 4
    assert (await room.texts(branch.conversation))[:2] == [("user", edited[0].text), ("agent", edited[1].text)]
    assert len(await room.texts(first.conversation)) == 4


async def test_of_two_requests_with_one_history_the_second_begins_its_own(room: Room):
    first = await room.say("My dog is called Rex.")
    both = await asyncio.gather(
        *[room.say(text, earlier=history(first), matches=True) for text in ("I live in Ulm.", "I live in Bonn.")]
    )
    assert {turn.conversation for turn in both} > {first.conversation}
    assert len({turn.conversation for turn in both}) == 2
    for turn in both:
        assert len(await room.texts(turn.conversation)) == 4


async def test_a_conversation_begun_on_the_bus_is_found_by_its_whole_text(room: Room):
    for text in ("My dog is called Rex.", "I live in Ulm."):
        sent = await room.core.directory.ask("agent", room.agent, SendChat(room.user.id, "ada", text))
        assert isinstance(sent, ChatSent)
    rows = await room.core.store.fetch(conversations.between(room.agent, room.user.id))
    id = conversation_id(rows[0][0], room.agent)
    said = await room.texts(id)
    earlier = tuple(Earlier("user" if role == "user" else "agent", text) for role, text in said)
    talked = await room.say("Who is Rex?", earlier=earlier, matches=True)
    assert talked.conversation == id


async def test_a_history_of_another_end_user_is_not_found(room: Room):
    first = await room.say("My dog is called Rex.", scope="end user 1")
    other = await room.say("Who is it?", earlier=history(first), matches=True, scope="end user 2")
    again = await room.say("Who is it?", earlier=history(first), matches=True, scope="end user 1")
    assert other.conversation != first.conversation == again.conversation


async def test_a_long_history_is_imported_from_its_end_and_found_again(room: Room):
    long = tuple(Earlier("agent" if number % 2 else "user", f"Fact {number}.") for number in range(IMPORTED + 7))
    first = await room.say("My dog is called Rex.", earlier=long, matches=True)
    second = await room.say("Who is Rex?", earlier=(*long, *history(first)), matches=True)
    assert second.conversation == first.conversation
    texts = await room.texts(first.conversation)
    assert len(texts) == IMPORTED + 4
    assert texts[0] == ("agent", "Fact 7.")
    other = (Earlier("user", "Something else."), *long[1:], *history(first, second))
    assert (await room.say("Hm?", earlier=other, matches=True)).conversation != first.conversation


async def test_imported_messages_are_marked_and_have_no_run(room: Room):
    talked = await room.say("Who is Rex?", earlier=(Earlier("user", "My dog is Rex."), Earlier("agent", "Noted.")))
    number = number_of(talked.conversation or "") or 0
    rows = await room.core.store.fetch(conversations.page_after(number, 0, 9))
    assert [row.mark for row in rows] == ["imported", "imported", None, None]
    assert "Rex" in talked.reply.content


async def test_a_clients_own_id_is_bound_at_its_first_use(room: Room):
    both = await asyncio.gather(*[room.say(text, client_id="thread") for text in ("I am Ada.", "I live in Ulm.")])
    later = await room.say("Who am I?", client_id="thread", earlier=(Earlier("user", "ignored"),))
    assert len({turn.conversation for turn in (*both, later)}) == 1
    assert len(await room.texts(later.conversation)) == 6
    stranger = await make_user(room.core, "bob")
    with pytest.raises(NotFound):
        await talk(room.call(stranger), room.agent, Saying("Hm?", client_id="thread"))


class CountedLookUps:
    """Counts how often the store is asked which conversation a client's own id is bound to."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._query = conversations.place_bound_to
        patch.setattr(conversations, "place_bound_to", self._look_up)

    def _look_up(self, user_id: str, agent_id: str, name: str) -> Query[tuple[int, bool]]:
        self.count += 1
        return self._query(user_id, agent_id, name)


async def test_a_clients_own_id_is_not_looked_up_with_each_message_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with open_core(tmp_path) as core:
        room = await furnished(core)
        first = await room.say("I am Ada.", client_id="thread")
        await room.say("I live in Ulm.", client_id="other")
    reads = CountedLookUps(monkeypatch)
    async with open_core(tmp_path) as core:
        room = Room(core, room.user, room.agent)
        for _ in range(4):
            assert (await room.say("Who am I?", client_id="thread")).conversation == first.conversation
        assert reads.count == 2  # the first time the agent's actor has not begun
        other = await room.say("Where do I live?", client_id="other")
        await room.say("Hm?", conversation=other.conversation)
        await room.say("Where do I live?", client_id="other")
    assert reads.count == 3


async def test_a_clients_own_id_in_memory_is_looked_up_once_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with open_core(tmp_path) as core:
        room = await furnished(core)
        first = await room.say("I am Ada.", client_id="thread")
    reads = CountedLookUps(monkeypatch)
    async with open_core(tmp_path) as core:
        room = Room(core, room.user, room.agent)
        await room.say("Hm?", conversation=first.conversation)
        for _ in range(3):
            assert (await room.say("Who am I?", client_id="thread")).conversation == first.conversation
    assert reads.count == 1


async def as_bound(room: Room, client_id: str) -> int:
    """Return what tells the actor later whether an id was bound or freed since now."""
    binding = room.core.directory.ask_inline("agent", room.agent, FindBound(room.user.id, client_id))
    assert binding is not None
    assert binding.number is None
    assert binding.asked is not None
    return binding.asked


async def test_a_late_message_to_its_old_conversation_takes_no_clients_id_back_from_a_fork(
    room: Room, monkeypatch: pytest.MonkeyPatch
):
    source = await source_of(room)
    place = ChatPlace(source.number, bound_to=("mine", await as_bound(room, "mine")))
    async with forked(room.call(), source, 2) as fork:
        said = await room.say("Is it far?", fork=fork, client_id="mine")
    monkeypatch.setattr(conversations_in_use, "WARM_CONVERSATIONS", 1)
    await room.say("Something else.")  # the fork leaves the memory
    late = SendChat(room.user.id, "ada", "How far?", place=place)
    await room.core.directory.ask("agent", room.agent, late)
    assert (await room.say("Really?", client_id="mine")).conversation == said.conversation


async def test_a_new_conversation_is_answered_while_more_others_are_under_way_than_stay_in_memory(
    scripted: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(conversations_in_use, "WARM_CONVERSATIONS", 1)
    gate = Gate(tmp_path / "gate")
    first = asyncio.create_task(scripted.say(f"wait:{gate} say:First"))
    await gate.reached()
    second = await asyncio.wait_for(scripted.say("say:Second"), 30)
    gate.open()
    assert [(await first).reply.content, second.reply.content] == ["First", "Second"]
    assert (await scripted.say("say:Third", conversation=second.conversation)).reply.seq == 4


async def test_a_late_message_to_an_erased_conversation_leaves_its_clients_id_free(room: Room):
    source = await source_of(room)
    place = ChatPlace(source.number, bound_to=("mine", await as_bound(room, "mine")))
    erase = EraseConversation(source)
    await room.core.directory.ask("agent", room.agent, erase)
    late = SendChat(room.user.id, "ada", "How far?", place=place)
    failed, begun = await asyncio.gather(
        room.core.directory.ask("agent", room.agent, late),
        room.say("Is it far?", client_id="mine"),
        return_exceptions=True,
    )
    assert isinstance(failed, NotFound)
    assert isinstance(begun, Talked)
    assert begun.conversation not in (None, conversation_id(source.number, room.agent))


async def test_only_ones_own_conversations_can_be_named(room: Room):
    mine = await room.say("Hello")
    other = await room.core.directory.ask("user", room.user.id, CreateAgent("owl", "", None, "agent"))
    await room.core.directory.ask("agent", other.id, SetOnline(room.user.id, True))
    with pytest.raises(NotFound):  # another agent's
        await talk(room.call(), other.id, Saying("Hm?", conversation=mine.conversation))
    assert mine.conversation is not None
    for wrong in ("cnv_1", mine.conversation[:-3] + "000", "cnv_" + "0" * 32, "thread"):
        with pytest.raises(NotFound):
            await room.say("Hm?", conversation=wrong)
    assert (await room.say("Hm?", conversation=mine.conversation)).conversation == mine.conversation


async def test_an_answer_without_a_conversation_stores_nothing(room: Room, scripted: Room):
    earlier = (Earlier("user", "My dog is called Rex."), Earlier("agent", "Noted."))
    talked = await room.say("Who is Rex?", earlier=earlier, once=True)
    assert "Rex" in talked.reply.content
    assert talked.conversation is None
    assert await room.conversations() == 0
    streamed = await scripted.say("say:once", once=True)
    assert (streamed.reply.content, streamed.conversation) == ("once", None)
    with pytest.raises(EngineFailed):
        await scripted.say("fail", once=True)
    assert await scripted.conversations() == 0


# keys


async def test_a_repeat_joins_its_run_or_gets_its_reply(room: Room):
    both = await asyncio.gather(*[room.say("My dog is called Rex.", key=KEY) for _ in range(2)])
    later = await room.say("My dog is called Rex.", key=KEY)
    assert len({(turn.run, turn.reply.content, turn.conversation) for turn in (*both, later)}) == 1
    assert await room.conversations() == 1
    assert len(await room.texts(later.conversation)) == 2


async def test_a_repeat_after_a_restart_gets_its_reply(tmp_path: Path):
    async with open_core(tmp_path) as core:
        room = await furnished(core)
        first = await room.say("My dog is called Rex.", key=KEY)
    async with open_core(tmp_path) as core:
        again = await Room(core, room.user, room.agent).say("My dog is called Rex.", key=KEY)
        assert (again.message, again.reply, again.conversation) == (first.message, first.reply, first.conversation)


async def test_a_key_used_for_another_request_is_refused(scripted: Room, tmp_path: Path):
    gate = tmp_path / "gate"
    first = asyncio.create_task(scripted.say(f"wait:{gate} say:done", key=KEY))
    other = structs.replace(KEY, fingerprint="other")
    while not gate.with_name("gate.reached").exists():
        await asyncio.sleep(0.01)
    with pytest.raises(StateConflict):
        await scripted.say("say:done", key=other)
    gate.touch()
    await first
    with pytest.raises(StateConflict):
        await scripted.say("say:done", key=other)
    assert await scripted.conversations() == 1


async def test_a_first_try_always_runs_and_later_tries_get_the_last_one(room: Room):
    first_try = structs.replace(KEY, latest=True)
    one = await room.say("My dog is called Rex.", key=first_try)
    two = await room.say("My dog is called Rex.", key=first_try)
    assert one.conversation != two.conversation
    assert (await room.say("My dog is called Rex.", key=KEY)).conversation == two.conversation


async def test_a_run_that_failed_goes_on_with_its_message(scripted: Room, tmp_path: Path):
    said = f"failonce:{tmp_path / 'failed'} say:done"
    with pytest.raises(EngineFailed):
        await scripted.say(said, client_id="thread", key=KEY)
    between = await scripted.say("say:between", client_id="thread")
    again = await scripted.say(said, client_id="thread", key=KEY)
    later = await scripted.say(said, client_id="thread", key=KEY)
    assert again.message.seq == 1
    assert (again.reply.content, again.run) == ("done", later.run)
    assert later.reply.content == "done"
    assert between.reply.content == "between"
    texts = await scripted.texts(again.conversation)
    assert [text for _, text in texts] == [said, "say:between", "between", "done"]


async def test_an_answer_without_a_conversation_is_repeated_for_ten_minutes(room: Room, clock: MovableClock):
    first = await room.say("Where is the Moon?", once=True, key=KEY)
    clock.now += JUST_ENDED_MS
    again = await room.say("Where is the Moon?", once=True, key=KEY)
    assert (again.run, again.reply, again.conversation) == (first.run, first.reply, None)
    clock.now += 1
    assert (await room.say("Where is the Moon?", once=True, key=KEY)).run != first.run
    assert await room.conversations() == 0


async def test_only_the_newest_answers_without_a_conversation_are_repeated(room: Room):
    keys = [RunKey(key_digest("usr", str(at)), "print") for at in range(MOST_OF_USER + 1)]
    said = [(await room.say("Where is the Moon?", once=True, key=key)).run for key in keys]
    assert (await room.say("Where is the Moon?", once=True, key=keys[1])).run == said[1]
    assert (await room.say("Where is the Moon?", once=True, key=keys[0])).run != said[0]


async def test_keys_are_forgotten_after_a_day(room: Room, clock: MovableClock):
    first = await room.say("My dog is called Rex.", key=KEY)
    clock.now += KEY_MS + 1
    await remove_expired(room.core)
    assert (await room.say("My dog is called Rex.", key=KEY)).conversation != first.conversation
    kept = await room.core.store.fetch(Query("SELECT count(*) FROM run_keys", (), lambda row: row[0]))
    assert kept == [1]


# channels


async def test_a_streamed_run_tells_its_message_once_it_is_stored_before_the_first_piece(scripted: Room):
    told: list[object] = []
    call = scripted.call()
    call.stream_to(told.append, told.append)
    talked = await talk(call, scripted.agent, Saying("say:one say:two"))
    assert told == [RunBegun(talked.run, talked.message, talked.conversation), "one", "two"]


async def test_an_instant_reply_and_a_repeat_tell_the_same(room: Room):
    for _ in range(2):
        told: list[object] = []
        call = room.call()
        call.stream_to(told.append, told.append)
        talked = await talk(call, room.agent, Saying("Hello", key=KEY))
        assert told == [RunBegun(talked.run, talked.message, talked.conversation), talked.reply.content]


async def until_any(told: list[RunBegun | str]) -> None:
    """Wait until something was told."""
    async with asyncio.timeout(30):
        while not told:
            await asyncio.sleep(0.01)


async def test_a_chat_that_waits_tells_so_and_once_more_when_it_is_stored(scripted: Room, gate: Gate):
    first = asyncio.create_task(scripted.say(f"wait:{gate} say:one", client_id="mine"))
    await gate.reached()
    told: list[RunBegun | str] = []
    call = scripted.call()
    call.stream_to(told.append, told.append)
    saying = Saying("say:two", client_id="mine", key=KEY)
    second = asyncio.create_task(talk(call, scripted.agent, saying))
    await until_any(told)  # so that it is the other one that joins
    joined: list[RunBegun | str] = []
    joining = scripted.call()
    joining.stream_to(joined.append, joined.append)
    third = asyncio.create_task(talk(joining, scripted.agent, saying))
    await until_any(joined)
    gate.open()
    talked = await second
    assert (await third).run == talked.run
    assert len((await first).reply.content) == 3
    waits, *rest = told
    assert isinstance(waits, RunBegun)
    assert (waits.run, waits.conversation, waits.waits) == (talked.run, talked.conversation, True)
    assert (waits.message.content, waits.message.seq, talked.message.seq) == ("say:two", 0, 3)
    assert (joined, rest) == ([waits], [RunBegun(talked.run, talked.message, talked.conversation), "two"])
    assert not scripted.core.runs_waiting


async def test_of_two_chats_in_a_conversation_that_is_read_first_the_second_is_told_to_wait(tmp_path: Path, gate: Gate):
    async with open_core(tmp_path / "data", engine=ScriptedEngine()) as core:
        room = await furnished(core)
        conversation = (await room.say("say:one")).conversation
    async with open_core(tmp_path / "data", engine=ScriptedEngine()) as core:
        room = room._replace(core=core)
        told: list[list[RunBegun | str]] = [[], []]
        chats: list[asyncio.Task[Talked]] = []
        for heard in told:
            call = room.call()
            call.stream_to(heard.append, heard.append)
            saying = Saying(f"wait:{gate} say:on", conversation=conversation)
            chats.append(asyncio.create_task(talk(call, room.agent, saying)))
        for heard in told:
            await until_any(heard)
        assert sorted(isinstance(one[0], RunBegun) and one[0].waits for one in told) == [False, True]
        gate.open()
        await asyncio.gather(*chats)


async def test_what_may_only_follow_a_message_does_not_wait_behind_another_one(scripted: Room, gate: Gate):
    first = await scripted.say("say:one")
    working = asyncio.create_task(scripted.say(f"wait:{gate} say:two", earlier=history(first), matches=True))
    await gate.reached()
    async with asyncio.timeout(30):
        branch = await scripted.say("say:other", earlier=history(first), matches=True)
    assert branch.conversation != first.conversation
    gate.open()
    assert (await working).conversation == first.conversation


class Stubborn:
    """An engine that says one more thing when it is stopped."""

    name = "stubborn"

    def __init__(self) -> None:
        self.stopped = asyncio.Event()

    async def stream(self, turn: Turn) -> AsyncIterator[str]:
        yield turn.message
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            yield "but"
            self.stopped.set()


async def test_the_end_of_its_conversation_stops_the_engine_and_what_it_still_says_is_not_heard(tmp_path: Path):
    engine, told = Stubborn(), list[object]()
    async with open_core(tmp_path, engine=engine) as core:
        room = await furnished(core)
        call = room.call()
        call.stream_to(told.append, told.append)
        chat = asyncio.create_task(talk(call, room.agent, Saying("one")))
        async with asyncio.timeout(30):
            while "one" not in told:
                await asyncio.sleep(0.01)
        (number,) = await shown(room)
        (row,) = await core.store.fetch(conversations.of_user(number, room.user.id))
        await core.directory.ask("agent", room.agent, EraseConversation(row))
        async with asyncio.timeout(30):
            await engine.stopped.wait()
        with pytest.raises(NotFound):
            await chat
        assert told[1:] == ["one"]
        assert await room.conversations() == 0
