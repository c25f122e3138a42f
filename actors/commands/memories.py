"""The memories of banks: loading, reading, recall, removal."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice

from actors.banks.loading import all_memory_terms, let_go, part_names
from actors.banks.messages import (
    ALL_MEMORIES,
    BANK,
    MAX_TERMS_ASKED,
    BankView,
    CensorMemories,
    Loaded,
    LoadMemory,
    MemoryMoved,
    Removed,
    RemoveMemories,
    no_such_memory,
    reloads,
)
from actors.banks.records import bank_record, memory_record, recalled_record
from actors.calls.bank_targets import recall_in_target_bank, target_agent_of, target_bank
from actors.calls.call import Answer, Call
from actors.calls.paging import cursor, page_limit, page_of
from actors.calls.request import REFERENCE_CHARS
from actors.calls.targets import own_target_agent
from actors.commands.command import BANK_MEMBERS, PAGE, Command, ToolDescription
from actors.commands.documents import ingested
from actors.engines.relevance import asked_terms
from actors.errors import InvalidField, MissingField, NotFound, NotPermitted
from actors.slices import sliced
from persistence import censoring, memories
from persistence.memories import Choice
from persistence.store import StoreUnavailable

RECALL_LIMIT = 5
"""The number of memories that MB_Recall returns without page.limit."""

_TRIES = 8
_MANY = 200  # memories; one by one these take 70 ms
_MUCH = 0.1  # of a bank: to walk through its index costs as much as to remove a tenth of it one by one


async def load(call: Call) -> Answer:
    """MB_Load: load a memory into a bank as one of the caller's agents, which is attached if it isn't yet."""
    if call.vx.name == ALL_MEMORIES:
        raise InvalidField(f"Invalid value of vx.name: `{ALL_MEMORIES}` means all memories; take another name.")
    view, viewer = await target_bank(call)
    agent = (await own_target_agent(call)).row
    name = call.vx.name or ""
    text = call.request.content or call.vx.description
    document_id = None
    for attempt in range(_TRIES):
        if text is not None:
            texts = (text,)
        elif (found := await ingested(call, name)) is not None:
            document_id, texts = found[0].id, tuple(found[1])
        else:
            raise NotFound("There is no text to load: send it as content or vx.description, or ingest a document.")
        names = part_names(name, texts)
        _require_short(names)
        terms = await sliced(all_memory_terms(zip(names, texts, strict=True)))
        before = tuple(await call.core.store.fetch(memories.replaced_by(view.row.id, name, names)))
        message = LoadMemory(viewer, agent.id, agent.owner_id, agent.name, name, texts, terms, before, document_id)
        try:
            answer = await call.carry_out(BANK, view.row.id, message, _loaded)
            await sliced(let_go(terms))
            return answer
        except MemoryMoved:  # another request loaded or removed it meanwhile: look again
            if attempt == _TRIES - 1:
                raise
            agent = (await own_target_agent(call)).row  # the same refusal tells that it is gone
    raise AssertionError("the last try answers or raises")


def _require_short(names: Sequence[str]) -> None:
    """Refuse a document whose parts could not be named in any command.

    Raises:
        InvalidField: the name of its last part is too long.
    """
    if len(names[-1]) > REFERENCE_CHARS:
        room = REFERENCE_CHARS - len(f"/{len(names)}")
        raise InvalidField(
            f"Invalid value of vx.name: this document has {len(names)} parts, named `name/1`, `name/2` ..., and a name"
            f" has up to {REFERENCE_CHARS} characters; send the document again under a name of up to {room}."
        )


def _loaded(loaded: Loaded) -> Answer:
    return Answer(
        profile=[bank_record(loaded.view.row)],
        content=[memory_record(memory) for memory in loaded.memories],
        quoted=tuple(memory.position for memory in loaded.memories),
        shows=(loaded.view.row.id,),
    )


async def read(call: Call) -> Answer:
    """MB_Read: a bank's memories, oldest first, or those of `vx.name`: one, or the parts of a document."""
    view, _ = await target_bank(call, "read")
    limit, name, after = page_limit(call), call.vx.name, cursor(call, int) or 0
    rows = await call.core.store.fetch(memories.page_after(view.row.id, name, after, limit + 1))
    if name is not None and not rows and not after:
        raise no_such_memory()
    page, following = page_of(call, rows, limit, lambda row: row.position)
    return Answer(profile=[bank_record(view.row)], content=[memory_record(row) for row in page], next=following)


async def recall_memories(call: Call) -> Answer:
    """MB_Recall: the memories that match `content` best, best first."""
    text = call.request.content or ""
    terms = tuple(islice(dict.fromkeys(await sliced(asked_terms(text))), MAX_TERMS_ASKED))
    recalled = await recall_in_target_bank(call, text, terms, page_limit(call, RECALL_LIMIT))
    return Answer(
        profile=[bank_record(recalled.row)],
        content=[recalled_record(found) for found in recalled.found],
        quoted=tuple([found.memory.position for found in recalled.found]),
        shows=(recalled.row.id,),
    )


async def delete(call: Call) -> Answer:
    """MB_Delete: remove memories and keep the bank."""
    _require_choice(call)
    view, viewer = await target_bank(call, "admin")
    choice = await _choice(call, view)
    return await call.carry_out(BANK, view.row.id, RemoveMemories(viewer, choice), _removed)


async def censor(call: Call) -> Answer:
    """MB_Censor: redact memories permanently; their tombstones stay."""
    _require_choice(call)
    view, viewer = await target_bank(call)
    choice = await _choice(call, view)
    fetch, quoted_by = call.core.store.fetch, censoring.quoted_by(view.row.id, choice)
    quoted, late = await fetch(quoted_by), set[tuple[str, str, str]]()
    quoting, parts = tuple([(kind, key) for kind, key, _ in quoted]), tuple([part for *_, part in quoted])
    answer = await call.carry_out(BANK, view.row.id, CensorMemories(viewer, choice, quoting, parts), _removed)
    call.core.erasure.wake()
    with suppress(StoreUnavailable):  # messages that quoted one in between; as stored they are redacted already
        late = set(await fetch(quoted_by)).difference(quoted)
        actors = [(kind, key) for kind, key, _ in late]
        await call.core.directory.announce(reloads(actors, [part for *_, part in late]))
    for key in {key for _, key, _ in {*quoted, *late}}:
        call.core.changes.changed(key)
    return answer


def _removed(removed: Removed) -> Answer:
    row = removed.view.row
    return Answer(profile=[bank_record(row)], content=[{"memories": removed.memories}], shows=(row.id,))


def _require_choice(call: Call) -> None:
    """Refuse a command that names no memories, because the selected agent is no default here."""
    if call.vx.name is None and call.target.agent is None:
        raise MissingField(
            f"missing name field: name the memory as `vx.name` (`{ALL_MEMORIES}` for all), "
            "its author as `target.agent`, or both."
        )


async def _choice(call: Call, view: BankView) -> Choice:
    """Return the choice of memories; for others than admins, only those by the caller's agents, if there are any."""
    me = call.user.user_id
    author_id = author_owner_id = None
    if call.target.agent is not None:
        author_id, author_owner_id, _ = await target_agent_of(call, view)
    own = author_owner_id == me
    most = view.row.memories
    name = None if call.vx.name == ALL_MEMORIES else call.vx.name
    if name is not None:
        found = await call.core.store.fetch(memories.chosen(view.row.id, Choice(name, author_id)))
        own = any(memory.author_owner_id == me for memory in found)
        if not own and view.permission == "none":  # whether there is such a memory is no matter of the caller's
            raise NotPermitted(f"You may not read {view.row.name}; its admins may do this.")
        if not found:
            raise no_such_memory()
        most = len(found)
    choice = Choice(name, author_id, me if own and view.permission != "admin" else None)
    return choice._replace(many=most >= _MANY and await _is_much_of(call, view, choice))


async def _is_much_of(call: Call, view: BankView, choice: Choice) -> bool:
    """Return whether a choice has too many of a bank's memories to remove them one by one."""
    if choice == Choice():
        return False
    (count,) = await call.core.store.fetch(memories.counted(view.row.id, choice))
    return count >= max(_MANY, view.row.memories * _MUCH)


COMMANDS = (
    Command(
        "MB_Censor",
        "Redact memories for good: the one of a name (`*`: all), all by target.agent, or those that match both.",
        censor,
        uses=(*BANK_MEMBERS, "vx.name"),
        requires=("target.bank",),
        profile="bank",
        content=("removed",),
        errors=(2003, 3000),
        example={"target": {"bank": "field-notes"}, "vx": {"name": "The Moon's distance"}},
        tool=ToolDescription(
            "Erase memories' texts",
            "Erase the texts of memories for good, also from past replies; their names stay. Takes one memory "
            "by name, all of one agent's, or every one with the name `*`.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "MB_Delete",
        "Remove memories, not the bank: the one of a name (`*`: all), all by target.agent, or those that match both.",
        delete,
        uses=(*BANK_MEMBERS, "vx.name"),
        requires=("target.bank",),
        profile="bank",
        content=("removed",),
        errors=(2003, 3000),
        example={"target": {"bank": "field-notes"}, "vx": {"name": "The Moon's distance"}},
        tool=ToolDescription(
            "Delete memories",
            "Delete memories and keep their bank: one memory by name, all of one agent's, or every one with "
            "the name `*`. Use MB_Censor to erase their traces in replies, too.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "MB_Load",
        "Load a memory into a bank, or replace the one of its name; attaches the agent of yours that loads it.",
        load,
        uses=("target.user", *BANK_MEMBERS, "vx.name", "vx.description", "content"),
        requires=("vx.name", "target.bank"),
        profile="bank",
        content=("memory",),
        errors=(2003, 3000, 3002, 3003),
        example={
            "target": {"bank": "field-notes", "agent": "scout"},
            "vx": {"name": "The Moon's distance"},
            "content": "The Moon is 384,400 km away on average.",
        },
        tool=ToolDescription(
            "Store a memory",
            "Store a text in a memory bank under a name; a memory of that name is replaced. One of your agents "
            "becomes its author: name it, or select one first with AP_Select.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "MB_Read",
        "Read a bank's memories, oldest first, or those of a name.",
        read,
        uses=("target.bank", "vx.name", *PAGE),
        requires=("target.bank",),
        profile="bank",
        content=("memory",),
        mutates=False,
        errors=(2003, 3000),
        example={"target": {"bank": "field-notes"}},
        tool=ToolDescription(
            "Read memories",
            "Read the memories of a bank a page at a time, oldest first, or only those of a name. Use "
            "MB_Recall to search their texts.",
        ),
    ),
    Command(
        "MB_Recall",
        "Find the memories of a bank that match a text best, best first; 5 without page.limit.",
        recall_memories,
        uses=("target.bank", "content", "page.limit"),
        requires=("target.bank", "content"),
        profile="bank",
        content=("recalled",),
        mutates=False,
        errors=(2003, 3000),
        example={"target": {"bank": "field-notes"}, "content": "How far is the Moon?"},
        tool=ToolDescription(
            "Search memories",
            "Find the memories of a bank that fit a question or text best, best first. Use it when you know "
            "the subject but not the memory's name.",
        ),
    ),
)
