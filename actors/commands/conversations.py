"""The conversation group: begin, list, read, title, search, fork and erase private conversations."""

from __future__ import annotations  # nested functions would build theirs at each call

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from actors.agents.conversation_changes import no_agent_to_go_on
from actors.agents.conversation_messages import BeginConversation, EraseConversation, SetTitle, ShowCopy
from actors.agents.messages import AGENT, ListRuns
from actors.calls.call import Answer, Call, Elsewhere
from actors.calls.conversation_targets import target_conversation
from actors.calls.paging import cursor, next_cursor, page_limit
from actors.calls.targets import has_access_to, no_agent_selected, target_agent, target_agent_id
from actors.commands.command import PAGE, Command, ToolDescription
from actors.conversations.forking import copy_messages, forked_title
from actors.conversations.ids import conversation_id
from actors.conversations.place import ChatPlace
from actors.conversations.records import conversation_record, message_record
from actors.conversations.searching import search
from actors.conversations.stored import from_row
from actors.errors import InvalidField, NotFound
from actors.ids import new_number
from actors.sessions.scopes import listed_ids
from persistence import agents, conversation_copies, own_conversations
from persistence.conversations import ConversationRow
from persistence.own_conversations import Used
from persistence.store import StoreUnavailable, Unit

ALWAYS = 2**62
"""Later than any time."""

CONVERSATION = ("target.agent", "target.conversation")
"""The request members that name a conversation; the agent is for the default one."""


def _answer(row: ConversationRow) -> Answer:
    return Answer(profile=[conversation_record(row)], conversation_number=row.number)


async def create(call: Call) -> Answer:
    """CV_Create: begin another conversation with an agent."""
    agent_id = await target_agent_id(call)
    user_id, title = call.user.user_id, call.vx.name

    def begun(row: ConversationRow) -> Answer:
        call.saw_agent(agent_id, row.agent)
        return _answer(row)

    try:
        return await call.carry_out(AGENT, agent_id, BeginConversation(user_id, title), begun)
    except NotFound:
        if await has_access_to(call, agent_id):
            message = BeginConversation(user_id, title, access_granted=True)
            return await call.carry_out(AGENT, agent_id, message, begun)
        if call.target.agent is None:  # the selected agent is gone, or out of sight
            raise no_agent_selected() from None
        raise


async def list_conversations(call: Call) -> Answer:
    """CV_List: the caller's conversations, the most recently used first.

    The order is that of the time of the first page, which the cursor keeps, so a conversation that is used meanwhile
    is neither missed nor listed twice.
    """
    limit, sent = page_limit(call), cursor(call, str)
    agent_ids = listed_ids(call.scopes, "agents") if call.target.agent is None else ((await target_agent(call)).row.id,)
    upto, after = (ALWAYS, None) if sent is None else _read_cursor(sent)
    listed = await call.core.store.fetch(own_conversations.listed(call.user.user_id, agent_ids, upto, after, limit + 1))
    last = listed[limit - 1][0] if len(listed) > limit else None
    if sent is None and last is not None:
        upto = max(call.core.clock(), listed[0][0].at)  # a node's clock may be ahead of this one's
    return Answer(
        profile=[conversation_record(row) for _, row in listed[:limit]],
        next=None if last is None else next_cursor(call, f"{upto} {last.at} {last.number}"),
    )


def _read_cursor(sent: str) -> tuple[int, Used]:
    numbers = [int(part) for part in sent.split(" ") if part.isascii() and part.isdecimal() and len(part) < 20]
    if len(numbers) != 3 or max(numbers) >= 2**63:
        raise InvalidField("Invalid value of page.cursor: send header.next of the page before, unchanged.")
    return numbers[0], Used(*numbers[1:])


async def read(call: Call) -> Answer:
    """CV_Read: the record of a conversation."""
    return _answer(await target_conversation(call))


async def update(call: Call) -> Answer:
    """CV_Update: set a conversation's title."""
    row = await target_conversation(call)
    return await call.carry_out(AGENT, row.agent_id, SetTitle(row, call.vx.name or ""), _answer)


async def search_messages(call: Call) -> Answer:
    """CV_Search: the messages of the caller's conversations that match `content` best, best first."""
    limit, agent_ids, number = page_limit(call), listed_ids(call.scopes, "agents"), None
    if call.target.conversation is not None:
        number = (await target_conversation(call)).number
    elif call.target.agent is not None:
        agent_ids = ((await target_agent(call)).row.id,)
    store, user_id, content = call.core.store, call.user.user_id, call.request.content or ""
    async with call.core.searches.one(user_id):
        found = await search(store, user_id, content, limit, agent_ids=agent_ids, conversation=number)
    return Answer(
        content=[message_record(from_row(row), None, conversation_id(number, agent)) for number, agent, row in found]
    )


async def fork(call: Call) -> Answer:
    """CV_Fork: begin a conversation with a copy of another one's messages."""
    row = await target_conversation(call)
    async with _copied(call, row, call.vx.seq) as copy:
        answer = await call.carry_out(AGENT, row.agent_id, ShowCopy(copy), _answer)
    call.core.forked.put_nowait(copy.number)
    return answer


@asynccontextmanager
async def forked(call: Call, conversation: ConversationRow, seq: int) -> AsyncGenerator[ChatPlace]:
    """Fork one of the caller's conversations after a seq, for a chat of the block there.

    The chat's message and the fork are seen at once; without the message there is no fork.

    Raises:
        Elsewhere: this node does not serve the agent.
        StateConflict: the agent was destroyed.
    """
    async with _copied(call, conversation, seq) as copy:
        yield ChatPlace(copy.number, copy_of=conversation.number)
    call.core.forked.put_nowait(copy.number)


@asynccontextmanager
async def _copied(call: Call, row: ConversationRow, seq: int | None) -> AsyncGenerator[ConversationRow]:
    """Copy a conversation up to a seq for the block to show; what it does not show is removed."""
    store, upto = call.core.store, row.last_seq if seq is None else seq
    if upto > row.last_seq:
        raise InvalidField(f"Invalid value of vx.seq: the last message of the conversation has the seq {row.last_seq}.")
    if not await store.fetch(agents.by_id(row.agent_id)):
        raise no_agent_to_go_on(row.agent)
    if not call.core.directory.serves(row.agent_id):  # before the work
        raise Elsewhere(row.agent_id, call)
    copy = row._replace(
        number=new_number(),
        is_default=False,
        title=forked_title(row.title),
        titled_at=None,
        last_seq=upto,
        last_at=None,
    )
    working = await call.ask(AGENT, row.agent_id, ListRuns(call.user.user_id))
    try:
        await copy_messages(store, row.number, copy, working)
        yield copy
    except BaseException:
        with suppress(StoreUnavailable):  # else a job removes it later
            await store.commit(Unit(conversation_copies.drop(copy.number)))
        raise


async def destroy(call: Call) -> Answer:
    """CV_Destroy: erase a conversation and its messages for good."""
    row = await target_conversation(call)
    answer = await call.carry_out(AGENT, row.agent_id, EraseConversation(row), lambda _: Answer())
    call.core.erasure.wake()
    return answer


_SOME = "cnv_067b9c1c8e40a5f13d5e8f0b6c2a4907"

COMMANDS = (
    Command(
        "CV_Create",
        "Begin another conversation with an agent.",
        create,
        uses=("target.agent", "vx.name"),
        profile="conversation",
        errors=(3000, 3003),
        example={"target": {"agent": "scout"}, "vx": {"name": "Travel plans"}},
        tool=ToolDescription(
            "Begin a conversation",
            "Begin another conversation with an agent, beside the default one that AP_Chat uses. Name its id as "
            "target.conversation in AP_Chat and AP_History. Takes the selected agent if none is named.",
        ),
    ),
    Command(
        "CV_Destroy",
        "Erase one of your conversations and its messages for good.",
        destroy,
        uses=CONVERSATION,
        requires=("target.conversation",),
        errors=(3000, 3003),
        example={"target": {"conversation": _SOME}},
        tool=ToolDescription(
            "Erase a conversation",
            "Erase a conversation of yours with all its messages, for good; forks of it stay. Works also if its "
            "agent was deleted.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "CV_Fork",
        "Begin a conversation with a copy of another one's messages, all or those up to a seq.",
        fork,
        uses=(*CONVERSATION, "vx.seq"),
        requires=("target.conversation",),
        profile="conversation",
        errors=(3000, 3002, 3003),
        example={"target": {"conversation": _SOME}, "vx": {"seq": 4}},
        tool=ToolDescription(
            "Fork a conversation",
            "Begin a conversation with a copy of the messages of another one of yours, all or those up to a seq, "
            "to try something else from there. The other one stays as it is.",
        ),
    ),
    Command(
        "CV_List",
        "List your conversations, the most recently used first.",
        list_conversations,
        uses=("target.agent", *PAGE),
        profile="conversation",
        mutates=False,
        errors=(3000,),
        example={"target": {"agent": "scout"}},
        tool=ToolDescription(
            "List conversations",
            "List your conversations with all agents or with one, the most recently used first. Use it to find "
            "a conversation's id.",
        ),
    ),
    Command(
        "CV_Read",
        "Read the record of one of your conversations.",
        read,
        uses=CONVERSATION,
        requires=("target.conversation",),
        profile="conversation",
        mutates=False,
        errors=(3000, 3003),
        example={"target": {"conversation": _SOME}},
        tool=ToolDescription(
            "Read a conversation's record",
            "Read a conversation's title, agent and number of messages; AP_History reads the messages.",
        ),
    ),
    Command(
        "CV_Search",
        "Find messages in your conversations, best first.",
        search_messages,
        uses=("content", *CONVERSATION, "page.limit"),
        requires=("content",),
        content=("message",),
        mutates=False,
        errors=(3000, 3003),
        example={"content": "the door of the dome"},
        tool=ToolDescription(
            "Search in conversations",
            "Find messages in all your conversations, in those with one agent, or in one of them, best first. "
            "Each names its conversation.",
        ),
    ),
    Command(
        "CV_Update",
        "Set the title of one of your conversations.",
        update,
        uses=(*CONVERSATION, "vx.name"),
        requires=("vx.name", "target.conversation"),
        profile="conversation",
        errors=(3000, 3003),
        example={"target": {"conversation": _SOME}, "vx": {"name": "Travel plans"}},
        tool=ToolDescription(
            "Title a conversation",
            "Set the title of a conversation of yours, in place of the one that it has.",
            destructive=True,
            idempotent=True,
        ),
    ),
)
