"""A message to an agent and its reply: the way that AP_Chat and the doors of all open protocols share."""

from __future__ import annotations  # nested functions would build theirs at each call

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct, structs

from actors.agents.conversation_messages import FindBound
from actors.agents.messages import (
    AGENT,
    HearRun,
    HistoryMoved,
    MemoriesNeeded,
    NoSuchConversation,
    RanBefore,
    SendChat,
    no_such_conversation,
    nothing_said,
    of_another_agent,
)
from actors.calls.call import A, Call
from actors.calls.conversation_targets import own_conversation
from actors.calls.targets import has_access_to
from actors.commands.chat_memories import memories_for_chat
from actors.commands.client_histories import as_imported, compared, redacted
from actors.conversations.conversation import ChatSent, RunBegun
from actors.conversations.ids import conversation_id, number_of, run_of
from actors.conversations.place import Beginning, Binding, ChatPlace, Earlier, RunKey
from actors.conversations.stored import from_row, quoted_positions
from actors.engines.message import Utterance
from actors.engines.options import EngineOptions
from actors.engines.turn import Memory, Reply
from actors.errors import InternalError, NotFound, StateConflict
from actors.idempotency.records import Quoting
from actors.ids import new_number
from actors.slices import Steps, sliced
from persistence import conversations, run_keys
from persistence.conversations import ConversationRow
from persistence.memories import at_positions
from persistence.run_keys import KeyedRun

CHAT_TIMEOUT_S = 300.0
"""Seconds that a chat may take in total; engines have shorter limits of their own."""

IMPORTED = 200
"""The number of messages of a client's history that are imported at most, the newest."""

KEY_MS = 24 * 3_600_000
"""How long a key leads to its run."""

_NEWEST = 2**62


class Saying(Struct, frozen=True):
    """A client's message to an agent, and its conversation.

    Without `fork`, `conversation`, `client_id` and `matches` a new conversation begins.

    Args:
        content: the text, 1 to 32,000 characters.
        conversation: the id of one of the caller's conversations with the agent.
        client_id: the client's own id of a conversation; the first use begins one.
        last_seq: the seq of that conversation's last message, if the text may only follow that one.
        fork: where it is said, if the caller has forked a conversation for it; `client_id` is bound to it then.
        earlier: the client's history before this message; a new conversation imports its newest messages.
        earlier_names: digests of the client's own ids of those messages, empty for one without; or none at all.
        matches: whether to go on with the conversation whose whole text equals `earlier`.
        silent: the number of the agent's turns that `earlier` leaves out, because they were calls without a text.
        scope: the end user of the client; only conversations of the same one match.
        once: whether to answer without a conversation, storing no text.
        key: the key by which the client may ask for the run again, for `key_ms`.
        options: what the client asks of the engine.
    """

    content: str
    conversation: str | None = None
    last_seq: int | None = None
    client_id: str | None = None
    fork: ChatPlace | None = None
    earlier: tuple[Earlier, ...] = ()
    earlier_names: tuple[str, ...] = ()
    matches: bool = False
    silent: int = 0
    scope: str = ""
    once: bool = False
    key: RunKey | None = None
    key_ms: int = KEY_MS
    options: EngineOptions | None = None


class Talked(Quoting, frozen=True):
    """A message and its reply, both durable unless `conversation` is None.

    `outcome` is the engine's reply as it came; of a run that ended before this request, which is `replayed`, it has no
    text, or is None.
    """

    message: Utterance
    reply: Utterance
    conversation: str | None
    outcome: Reply | None = None
    replayed: bool = False

    @property
    def run(self) -> str:
        """The id of the run."""
        return run_of(self.message.id)


def key_digest(*parts: str) -> str:
    """Return the digest of a key: of whoever may use it, the door, the agent and the client's own parts."""
    return hashlib.sha256("\0".join([f"{len(part)}:{part}" for part in parts]).encode()).hexdigest()


async def talk(call: Call, agent_id: str, saying: Saying) -> Talked:
    """Say something to an agent, and return it with the reply.

    Pieces of the reply go to the channels of `call.stream_to`.

    Raises:
        NotFound: there is no such agent that the caller may see, or no such conversation of the caller with it.
        HistoryMoved: the conversation has gone on after `last_seq`.
        StateConflict: the agent is offline.
        OtherRequest: the key was used for another request.
        ServiceError: the engine failed; the message is kept.
    """
    found = await repeated(call, agent_id, saying)
    if found is not None:
        return found
    place = await _place_of(call, agent_id, saying)
    try:
        return await _said(call, agent_id, saying, place)
    except HistoryMoved:
        if not saying.matches:
            raise
        return await _said(call, agent_id, saying, await _new_place(call, saying))


async def repeated(call: Call, agent_id: str, saying: Saying) -> Talked | None:
    """Return the run of a repeat, once it has ended; None if what is said is new. It raises what `talk` raises."""
    key = saying.key
    if key is None or key.latest:
        return None
    found = await call.core.store.fetch(run_keys.of_key(key.digest, call.core.clock() - saying.key_ms))
    return await _again(call, agent_id, saying, key, found[0]) if found else None


async def _said(
    call: Call, agent_id: str, saying: Saying, place: ChatPlace, resumes: Utterance | None = None
) -> Talked:
    user, key = call.user, saying.key
    message = SendChat(
        user.user_id, user.user_name, saying.content, resumes=resumes, place=place, key=key, options=saying.options
    )
    sent = await send_chat(call, agent_id, message, _talked)
    if isinstance(sent, Talked):
        return sent
    assert key is not None  # else nothing has run before
    if sent.other_request:
        raise _other_request()
    if sent.unstored is not None and await _may_be_told(call, sent.unstored.positions):
        return structs.replace(_talked(sent.unstored.sent, ()), replayed=True)
    found = await call.core.store.fetch(run_keys.of_key(key.digest, call.core.clock() - saying.key_ms))
    if not found:  # the run is forgotten, or too old for this door
        anew = structs.replace(saying, key=structs.replace(key, latest=True))
        return await _said(call, agent_id, anew, place, resumes)
    return await _again(call, agent_id, saying, key, found[0])


async def _outcome_of(call: Call, agent_id: str, saying: Saying, message_id: str) -> Reply | None:
    """Return what the store lacks of a reply, if that is remembered, and if the options may have changed it."""
    options = saying.options
    if options is None or not (options.tools or options.max_tokens):
        return None
    return await remembered_outcome(call, agent_id, message_id)


async def remembered_outcome(call: Call, agent_id: str, message_id: str) -> Reply | None:
    """Return what the store lacks of the reply to one of the caller's messages, if its agent remembers that."""
    heard = await call.ask(AGENT, agent_id, HearRun(call.user.user_id, message_id, 0))
    return heard.outcome if await _may_be_told(call, heard.positions) else None


async def _may_be_told(call: Call, positions: tuple[int, ...]) -> bool:
    """Return whether no memory is censored whose words an answer may repeat."""
    return not positions or len(await call.core.store.fetch(at_positions(positions))) == len(positions)


async def _again(call: Call, agent_id: str, saying: Saying, key: RunKey, known: KeyedRun) -> Talked:
    """Answer a repeat: with the reply that is stored; else join the run, or ask the engine again if it failed."""
    if known.fingerprint != key.fingerprint:
        raise _other_request()
    store = call.core.store
    rows = await store.fetch(conversations.message(call.user.user_id, known.message_id))
    of_user = await store.fetch(conversations.of_user(known.conversation_id, call.user.user_id))
    if not rows or not of_user or of_user[0].agent_id != agent_id:
        raise no_such_conversation()
    row, said = of_user[0], from_row(rows[0][1])
    name = conversation_id(row.number, agent_id)
    replies = await store.fetch(conversations.reply_to(row.number, said.seq))
    if not replies and said.mark == "cancelled":
        raise nothing_said().of_run(run_of(said.id), name)
    if not replies:
        return await _said(call, agent_id, saying, ChatPlace(row.number, row.is_default), said)
    reply = from_row(replies[0])
    if call.begun is not None:
        call.begun(RunBegun(run_of(said.id), said, name))
    if call.progress is not None:
        call.progress(reply.content)
    outcome = await _outcome_of(call, agent_id, saying, said.id)
    return Talked(said, reply, name, outcome, replayed=True, conversation_number=row.number)


class OtherRequest(StateConflict):
    """The key was used for another request."""


def _other_request() -> OtherRequest:
    return OtherRequest("This id was used for another request; send a new id with a new request.")


# where it is said


async def _place_of(call: Call, agent_id: str, saying: Saying) -> ChatPlace:
    if saying.once:
        return ChatPlace(new_number(), begins=Beginning(saying.earlier[-IMPORTED:]), kept=False)
    if saying.fork is not None:
        return structs.replace(saying.fork, binds=saying.client_id)
    if saying.conversation is not None:
        row = await own_conversation(call, saying.conversation)
        if row.agent_id != agent_id:
            raise of_another_agent()
        return ChatPlace(row.number, row.is_default, last_seq=saying.last_seq)
    store, user_id = call.core.store, call.user.user_id
    if saying.client_id is not None:
        binding = call.core.directory.ask_inline(AGENT, agent_id, FindBound(user_id, saying.client_id)) or Binding()
        if binding.number is not None:
            return ChatPlace(binding.number)
        for number, is_default in await store.fetch(conversations.place_bound_to(user_id, agent_id, saying.client_id)):
            bound_to = None if binding.asked is None else (saying.client_id, binding.asked)
            return ChatPlace(number, is_default, bound_to=bound_to)
        return await _new_place(call, saying)
    if saying.matches and saying.earlier:
        row = await _matching(call, agent_id, saying)
        if row is not None:
            return ChatPlace(row.number, row.is_default, last_seq=row.last_seq)
    return await _new_place(call, saying)


async def _new_place(call: Call, saying: Saying) -> ChatPlace:
    earlier = saying.earlier
    cut = max(len(earlier) - IMPORTED, 0)
    opening = await sliced(_opening(earlier[: cut + 1] or (Earlier("user", saying.content),)))
    told, quoted = await as_imported(call.core.store, call.user.user_id, earlier[cut:])
    begins = Beginning(told, opening, cut, _scope(saying), saying.earlier_names[cut:], quoted)
    return ChatPlace(new_number(), begins=begins, binds=saying.client_id)


async def _matching(call: Call, agent_id: str, saying: Saying) -> ConversationRow | None:
    """Find the latest conversation whose whole text equals the client's history, else one that it equalled once.

    That is one in which replies were redacted since; the client still has their words, which must not be stored again.
    """
    earlier, store, user_id = saying.earlier, call.core.store, call.user.user_id
    opening, least, most = await sliced(_opening(earlier[:1])), len(earlier), len(earlier) + saying.silent
    once: ConversationRow | None = None
    for row in await store.fetch(conversations.opened_with(user_id, agent_id, opening, _scope(saying), least, most)):
        if row.cut and row.opening != await sliced(_opening(earlier[: row.cut + 1])):
            continue
        messages = await store.fetch(conversations.page_before(row.number, _NEWEST, most))
        texts = await sliced(compared([(one.role, one.content) for one in reversed(messages) if one.content.strip()]))
        told = await sliced(compared(earlier[row.cut :]))
        if texts == told:
            return row
        if once is None and redacted(texts, told):
            once = row
    return once


def _opening(messages: Sequence[Earlier]) -> Steps[str]:
    return key_digest(*[part for message in (yield from compared(messages)) for part in message])


def _scope(saying: Saying) -> str:
    return key_digest(saying.scope) if saying.scope else ""


# sending


async def send_chat(
    call: Call, agent_id: str, message: SendChat, answered: Callable[[ChatSent, tuple[Memory, ...]], A]
) -> A | RanBefore:
    """Send a chat, with matching memories if the agent has banks; `answered` makes the command's answer of the reply.

    Raises:
        NotFound: there is no such agent that the caller may see.
        NotPermitted: the caller's API key is not for it.
    """
    scopes = call.scopes
    if scopes is not None:
        scopes.require("agents", agent_id)
        message = structs.replace(message, with_tools=not scopes.restrict)
    memories: tuple[Memory, ...] = ()

    def answer_of(sent: ChatSent | MemoriesNeeded | RanBefore) -> A | _NotSent:
        return answered(sent, memories) if isinstance(sent, ChatSent) else _NotSent(sent)

    carry_out = partial(call.carry_out, AGENT, agent_id, answer=answer_of, timeout=CHAT_TIMEOUT_S)
    try:
        answer = await carry_out(message)
    except NoSuchConversation:  # it was erased during the chat, which must not begin it again
        raise
    except NotFound as error:
        if error.run is not None or not await has_access_to(call, agent_id):  # with a run, it has been said already
            raise
        message = structs.replace(message, access_granted=True)
        answer = await carry_out(message)
    if isinstance(answer, _NotSent) and isinstance(answer.reason, MemoriesNeeded):
        needed = answer.reason
        memories = await memories_for_chat(call, agent_id, needed.agent, message.content, needed.links)
        answer = await carry_out(structs.replace(message, memories=memories))
    if not isinstance(answer, _NotSent):
        return answer
    if isinstance(answer.reason, MemoriesNeeded):  # with memories, the agent never asks for them
        raise InternalError("The gateway failed on this request; it has been logged.")
    return answer.reason


class _NotSent(Quoting, frozen=True):
    """A placeholder for the answer of a chat that the agent did not take yet."""

    reason: MemoriesNeeded | RanBefore


def _talked(sent: ChatSent, memories: tuple[Memory, ...]) -> Talked:
    return Talked(
        sent.message,
        sent.reply,
        sent.conversation,
        sent.outcome,
        quoted=quoted_positions(sent.reply, memories),
        conversation_number=None if sent.conversation is None else number_of(sent.conversation),
    )
