"""The bank group: memory banks, who may do what in them, and recall (product 5)."""

from contextlib import suppress

from actors.agents.messages import AgentView
from actors.banks.actor import part_names
from actors.banks.messages import (
    ALL_MEMORIES,
    Accepted,
    AcceptOffer,
    BankView,
    BankViewer,
    CensorMemories,
    DestroyBank,
    Detach,
    Grant,
    Loaded,
    LoadMemory,
    MemoryMoved,
    ReadBank,
    Removed,
    RemoveMemories,
    RequirePermission,
    UpdateBank,
    no_such_bank,
    no_such_memory,
)
from actors.banks.recall import RankedMemory, all_indexed_terms, recall, recall_by_terms, terms_asked
from actors.banks.records import attachment_record, bank_record, memory_record
from actors.calls.call import Answer, Call
from actors.calls.request import require_name
from actors.commands.documents import ingested
from actors.engines.relevance import asking
from actors.engines.turn import Memory
from actors.errors import InvalidField, MissingField, NotFound, NotPermitted
from actors.names import no_such_user
from actors.runtime.notices import Reload
from actors.slices import Steps, sliced
from actors.users.messages import CreateBank
from persistence import agents, banks, offers, users
from persistence.banks import BankChanges, Choice, MemoryRow
from persistence.store import StoreUnavailable
from persistence.users import name_key

RECALL_LIMIT = 5
"""Memories that MB_Recall answers where page.limit says nothing."""

CHAT_MEMORIES = 5
"""Memories that an agent has at hand in a chat."""

CHAT_BANKS = 16
"""Banks that an agent searches in a chat: its owner's first, then those it is attached to the longest."""

_TRIES = 8


# finding a bank


async def _bank(call: Call, permission: str = "", *, answers: bool = False) -> tuple[BankView, BankViewer]:
    """Read the bank that `target.bank` names, and ask for a permission in it where one is needed.

    `answers`: the command answers an offer, so one whose agent is offered the bank may name it, too.

    Raises:
        NotFound: there is none of that name that the caller may see.
        NotPermitted: the caller sees it but may not do that.
    """
    viewer = BankViewer(call.user.user_id, answers=answers)

    async def seen(bank_id: str) -> BankView:
        nonlocal viewer
        view, viewer = await _seen(call, bank_id, viewer)
        return view

    view = await call.named("bank", call.target.bank or "", banks.id_by_name, seen)
    if view is None:
        raise no_such_bank()
    if permission:
        view = await call.ask("bank", view.row.id, RequirePermission(viewer, permission))
    return view, viewer


async def _seen(call: Call, bank_id: str, viewer: BankViewer) -> tuple[BankView, BankViewer]:
    """Read a bank; where the actor alone can't tell that the caller sees it, the store may."""
    try:
        return await call.ask("bank", bank_id, ReadBank(viewer)), viewer
    except NotFound:
        if not await call.core.store.fetch(banks.opened_to(bank_id, viewer.user_id)):
            raise
    viewer = viewer._replace(access_granted=True)
    return await call.ask("bank", bank_id, ReadBank(viewer)), viewer


async def _own_agent(call: Call) -> AgentView:
    """Read the target agent, which has to be the caller's own."""
    view = await call.target_agent()
    if view.row.owner_id != call.user.user_id:
        raise NotPermitted(f"{view.row.name} is not your own agent; name one of yours as target.agent.")
    return view


async def _agent_of(call: Call, view: BankView, *, withdraws: bool = False) -> tuple[str, str, str]:
    """Find the target agent: any that the caller sees, and to one who may read the bank, any of the bank's.

    `withdraws`: to an admin also one that is only offered the bank, as it may have been hidden since.
    Returns its id, its owner's id and its name.
    """
    name, fetch = call.target.agent, call.core.store.fetch
    if name is not None and view.permission != "none":
        found = await fetch(banks.wrote_in(view.row.id, name))
        if not found and withdraws and view.permission == "admin":
            found = await fetch(offers.offered_in(view.row.id, name))
        for agent_id in found:
            for row in await fetch(agents.by_id(agent_id)):
                return row.id, row.owner_id, row.name
    row = (await call.target_agent()).row
    return row.id, row.owner_id, row.name


# banks


async def create(call: Call) -> Answer:
    """MB_Create: make a bank that the caller owns, with an own agent as its admin."""
    call.require_own("banks")
    name = call.vx.name or call.target.bank
    if name is None:
        raise MissingField("missing name field: send a text as `vx.name` or `target.bank`.")
    agent = await _own_agent(call)
    message = CreateBank(require_name(name), call.vx.description, call.vx.access or "agent", agent.row.id)
    return await call.carry_out("user", call.user.user_id, message, lambda bank: Answer(profile=[bank_record(bank)]))


async def update(call: Call) -> Answer:
    """MB_Update: replace name and description, and access where it is given."""
    name = require_name(call.vx.name or "")
    view, viewer = await _bank(call, "admin")
    if name_key(name) != name_key(view.row.name):
        await call.require_name_allowed(name)
    changes = BankChanges(name, call.vx.description, call.vx.access)
    return await call.carry_out("bank", view.row.id, UpdateBank(viewer, changes), _bank_answer)


def _bank_answer(view: BankView) -> Answer:
    return Answer(profile=[bank_record(view.row)])


async def destroy(call: Call) -> Answer:
    """MB_Destroy: remove a bank with all its memories."""
    view, viewer = await _bank(call)
    return await call.carry_out("bank", view.row.id, DestroyBank(viewer), lambda _: Answer())


async def list_banks(call: Call) -> Answer:
    """MB_List: own banks and those of own agents, or those of another user that the caller may see."""
    viewer, limit = call.user.user_id, call.page_limit
    prefix, after = call.target.bank or "", call.cursor(str) or ""
    owner = call.target.user
    if owner is None or name_key(owner) == name_key(call.user.user_name):
        query = banks.listed_for(viewer, prefix, after, limit + 1)
    else:
        found = await call.core.store.fetch(users.id_by_name(owner))
        if not found:
            raise no_such_user()
        query = banks.visible_of(found[0], viewer, prefix, after, limit + 1)
    rows = await call.core.store.fetch(query)
    return Answer(
        profile=[bank_record(row) for row in rows[:limit]],
        next=call.next_cursor(name_key(rows[limit - 1].name)) if len(rows) > limit else None,
    )


# attachments


async def list_agents(call: Call) -> Answer:
    """MB_AgentList: the agents that are attached to a bank or offered it, a page of them, or one agent."""
    view, _ = await _bank(call, "read")
    return await _attachments(call, view, call.cursor(str) or "", call.target.agent)


async def _attachments(call: Call, view: BankView, after: str, agent: str | None = None) -> Answer:
    limit = call.page_limit
    rows = await call.core.store.fetch(offers.page_of_bank(view.row.id, agent, after, limit + 1))
    if agent is not None and not rows and not after:
        raise NotFound(
            "No agent of this name is attached to the bank or offered it; leave target.agent out to list all."
        )
    return Answer(
        profile=[bank_record(view.row)],
        content=[attachment_record(row) for row in rows[:limit]],
        next=call.next_cursor(offers.place_of(rows[limit - 1])) if len(rows) > limit else None,
    )


async def permissions(call: Call) -> Answer:
    """MB_Permissions: read or set who sees the bank and what an agent may do in it; another's agent is offered more."""
    access, permission = call.vx.access, call.vx.permission
    after = call.cursor(str) or ""
    if permission is not None and call.target.agent is None:
        raise MissingField("missing target.agent field: name the agent that is to have this permission.")
    view, viewer = await _bank(call, "read")

    def changed(after: BankView) -> Answer:
        nonlocal view
        view = after
        return Answer()

    if permission is not None:
        agent_id, owner_id, name = await _agent_of(call, view, withdraws=permission == "none")
        grant = Grant(viewer, agent_id, owner_id, name, permission, access)
        await call.carry_out("bank", view.row.id, grant, changed, repeatable=True)
    elif access is not None:
        update = UpdateBank(viewer, BankChanges(access=access))
        await call.carry_out("bank", view.row.id, update, changed, repeatable=True)
    else:
        call.receipt = None  # it only reads
    return await _attachments(call, view, after)


async def accept(call: Call) -> Answer:
    """MB_Accept: attach an own agent to a bank as it is offered."""
    view, viewer = await _bank(call, answers=True)
    agent = (await call.target_agent()).row
    return await call.carry_out("bank", view.row.id, AcceptOffer(viewer, agent.id, agent.owner_id), _accepted)


def _accepted(accepted: Accepted) -> Answer:
    return Answer(
        profile=[bank_record(accepted.view.row)],
        content=[attachment_record(accepted.attachment)],
    )


async def unload(call: Call) -> Answer:
    """MB_Unload: detach an agent, or decline or withdraw an offer."""
    view, viewer = await _bank(call, answers=True)
    agent_id, owner_id, _ = await _agent_of(call, view, withdraws=True)
    return await call.carry_out("bank", view.row.id, Detach(viewer, agent_id, owner_id), _bank_answer)


# memories


async def load(call: Call) -> Answer:
    """MB_Load: put a memory in a bank, in the name of an own agent, which is attached where it isn't yet."""
    if call.vx.name == ALL_MEMORIES:
        raise InvalidField(f"Invalid value of vx.name: `{ALL_MEMORIES}` means all memories; take another name.")
    view, viewer = await _bank(call)
    agent = (await _own_agent(call)).row
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
        terms = await sliced(all_indexed_terms(view.row.number, zip(names, texts, strict=True)))
        before = tuple(await call.core.store.fetch(banks.replaced_by(view.row.id, name, names)))
        message = LoadMemory(viewer, agent.id, agent.owner_id, agent.name, name, texts, terms, before, document_id)
        try:
            return await call.carry_out("bank", view.row.id, message, _loaded)
        except MemoryMoved:  # another loaded or removed it meanwhile: look again
            if attempt == _TRIES - 1:
                raise
    raise AssertionError("the last try answers or raises")


def _loaded(loaded: Loaded) -> Answer:
    return Answer(
        profile=[bank_record(loaded.view.row)],
        content=[memory_record(memory) for memory in loaded.memories],
        quoted=tuple(memory.place for memory in loaded.memories),
    )


async def read(call: Call) -> Answer:
    """MB_Read: a bank's memories, oldest first, or those that `vx.name` means: one, or the parts of a document."""
    view, _ = await _bank(call, "read")
    limit, name, after = call.page_limit, call.vx.name, call.cursor(int) or 0
    rows = await call.core.store.fetch(banks.page_after(view.row.id, name, after, limit + 1))
    if name is not None and not rows and not after:
        raise no_such_memory()
    return Answer(
        profile=[bank_record(view.row)],
        content=[memory_record(row) for row in rows[:limit]],
        next=call.next_cursor(rows[limit - 1].place) if len(rows) > limit else None,
    )


async def recall_memories(call: Call) -> Answer:
    """MB_Recall: the memories that say most about `content`, best first."""
    view, _ = await _bank(call, "read")
    page = call.request.page
    limit = page.limit if page is not None and page.limit is not None else RECALL_LIMIT
    query = call.request.content or ""
    found = await recall(call.core.store, view.row, query, limit)
    answers = await sliced(_answers(query, [memory for memory, _ in found]))
    return Answer(
        profile=[bank_record(view.row)],
        content=[
            memory_record(memory) | {"score": score, "answers": answering}
            for (memory, score), answering in zip(found, answers, strict=True)
        ],
        quoted=tuple(memory.place for memory, _ in found),
    )


def _answers(query: str, memories: list[MemoryRow]) -> Steps[list[bool]]:
    """Tell of each memory whether it answers a question, as a chat decides it."""
    question = yield from asking(query)
    answers: list[bool] = []
    for memory in memories:
        _, answering = yield from question.reading(f"{memory.name}\n{memory.text}")
        answers.append(answering)
    return answers


async def delete(call: Call) -> Answer:
    """MB_Delete: remove memories and keep the bank."""
    _require_choice(call)
    view, viewer = await _bank(call, "admin")
    choice = await _choice(call, view)
    return await call.carry_out("bank", view.row.id, RemoveMemories(viewer, choice), _removed)


async def censor(call: Call) -> Answer:
    """MB_Censor: redact memories for good; their tombstones stay."""
    _require_choice(call)
    view, viewer = await _bank(call)
    choice = await _choice(call, view)
    quoting = tuple(await call.core.store.fetch(banks.quoted_by(view.row.id, choice)))
    answer = await call.carry_out("bank", view.row.id, CensorMemories(viewer, choice, quoting), _removed)
    call.core.erasure.set()
    with suppress(StoreUnavailable):  # those that quoted one just before; the stored messages are redacted already
        for kind, key in await call.core.store.fetch(banks.quoted_by(view.row.id, choice)):
            call.core.directory.deliver((Reload(kind, (key,)),))
    return answer


def _removed(removed: Removed) -> Answer:
    return Answer(profile=[bank_record(removed.view.row)], content=[{"memories": removed.memories}])


def _require_choice(call: Call) -> None:
    """Refuse a command that doesn't say which memories it means: here the selected agent is no default."""
    if call.vx.name is None and call.target.agent is None:
        raise MissingField(
            f"missing name field: name the memory as `vx.name` (`{ALL_MEMORIES}` for all), "
            "its author as `target.agent`, or both."
        )


async def _choice(call: Call, view: BankView) -> Choice:
    """Say which memories are meant; for one who is no admin those that its own agents wrote, if there are any."""
    me = call.user.user_id
    author_id = author_owner_id = None
    if call.target.agent is not None:
        author_id, author_owner_id, _ = await _agent_of(call, view)
    own = author_owner_id == me
    name = None if call.vx.name == ALL_MEMORIES else call.vx.name
    if name is not None:
        found = await call.core.store.fetch(banks.chosen(view.row.id, Choice(name, author_id)))
        if not found:
            if view.permission == "none":
                raise NotPermitted(f"You may not read {view.row.name}; its admins may do this.")
            raise no_such_memory()
        own = any(memory.author_owner_id == me for memory in found)
    return Choice(name, author_id, me if own and view.permission != "admin" else None)


# chat


async def memories_for_chat(call: Call, agent_id: str, message: str) -> tuple[Memory, ...]:
    """Find what an agent's banks say about a message, as far as the caller may see these banks; best first."""
    store = call.core.store
    found: list[tuple[str, RankedMemory]] = []
    asked = await terms_asked(message)
    for bank in await store.fetch(banks.recalled_by(agent_id, call.user.user_id, CHAT_BANKS)):
        found += [(bank.name, recalled) for recalled in await recall_by_terms(store, bank, asked, CHAT_MEMORIES)]
    found.sort(key=lambda hit: hit[1].score, reverse=True)
    return tuple(
        Memory(bank, memory.name, memory.text or "", score, memory.place)
        for bank, (memory, score) in found[:CHAT_MEMORIES]
    )
