"""The memories of an agent's banks that a chat is answered with."""

import asyncio
from itertools import chain
from operator import attrgetter

from actors.agents.messages import AGENT, LinksKnown, NoBanksLeft
from actors.banks.messages import BANK, MAX_TERMS_ASKED, BankViewer, RecallMemories
from actors.calls.call import Call
from actors.engines.relevance import asking
from actors.engines.turn import Memory
from actors.errors import NotFound
from actors.sessions.scopes import listed_ids
from actors.slices import sliced
from persistence import banks

CHAT_MEMORIES = 5
"""The number of memories that an agent gets for a chat."""

CHAT_BANKS = 16
"""The number of banks that an agent searches in a chat: its owner's first, then those attached for longest."""


async def memories_for_chat(
    call: Call, agent_id: str, agent: str, message: str, links: LinksKnown | None = None
) -> tuple[Memory, ...]:
    """Recall the memories that match a message to an agent best, from its banks that the caller may see.

    Those that answer come first. `links`, given if the caller sees all banks of the agent, are what its actor knew; it
    is told if no bank is left.
    """
    ids = listed_ids(call.scopes, "banks")
    searched = await call.core.store.fetch(banks.recalled_by(agent_id, call.user.user_id, CHAT_BANKS, ids))
    if ids is not None:
        links = None  # there may be banks that the key is not for
    if not searched and links is not None:
        call.core.directory.tell(AGENT, agent_id, NoBanksLeft(links))
    if not searched:
        return ()
    question = await sliced(asking(message, agent))
    terms = question.asked(MAX_TERMS_ASKED)
    # The store has found that the caller sees these banks, whatever opens them.
    viewer = BankViewer(call.user.user_id, access_granted=True)
    recall = RecallMemories(viewer, message, terms, CHAT_MEMORIES, agent_id)
    if len(searched) == 1:
        return await _recalled(call, searched[0].id, recall)
    of_banks = await asyncio.gather(*[_recalled(call, bank.id, recall) for bank in searched])
    # Shares are comparable everywhere, scores only within a bank: among equals the order of the banks stays.
    found = sorted(chain.from_iterable(of_banks), key=attrgetter("answers", "share"), reverse=True)
    return tuple(found[:CHAT_MEMORIES])


async def _recalled(call: Call, bank_id: str, message: RecallMemories) -> tuple[Memory, ...]:
    """Recall from one bank; nothing if the agent has lost it meanwhile, or the caller sight of it."""
    try:
        recalled = await call.ask(BANK, bank_id, message)
    except NotFound:
        return ()
    bank = recalled.row.name
    return tuple(
        [
            Memory(
                bank,
                one.memory.name,
                one.memory.text or "",
                one.score,
                one.memory.position,
                one.share,
                one.answers,
            )
            for one in recalled.found
        ]
    )
