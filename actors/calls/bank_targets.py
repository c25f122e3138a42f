"""Targets: the banks that a command names, and the agents in them."""

from msgspec import structs

from actors.agents.messages import no_such_agent
from actors.banks.messages import (
    BANK,
    BankView,
    BankViewer,
    ReadBank,
    RecalledMemories,
    RecallMemories,
    RequirePermission,
    no_such_bank,
)
from actors.calls.call import Call
from actors.calls.targets import named, target_agent
from actors.calls.user_targets import is_for_caller, is_meant
from actors.errors import NotFound, NotPermitted
from persistence import agents, banks, memories, offers
from persistence.users import name_key


async def target_bank(call: Call, permission: str = "", *, answers: bool = False) -> tuple[BankView, BankViewer]:
    """Read the bank that `target.bank` names, and require a permission in it if one is given.

    `answers`: the command accepts or declines an offer, so the owner of an agent with an offer may name the bank, too.

    Raises:
        NotFound: there is none of that name that the caller may see.
        NotPermitted: the caller sees it but lacks that permission, or the sender's API key is not for it.
    """
    return await bank_named(call, call.target.bank or "", permission, answers=answers)


async def bank_named(
    call: Call, name: str, permission: str = "", *, answers: bool = False
) -> tuple[BankView, BankViewer]:
    """Read the bank of a name, as `target_bank` does.

    Raises:
        NotFound, NotPermitted: see there.
    """
    viewer = BankViewer(call.user.user_id, answers=answers)

    async def seen(bank_id: str) -> BankView:
        nonlocal viewer
        view, viewer = await _read_bank(call, bank_id, viewer)
        return view

    view = await named(call, "bank", name, banks.id_by_name, seen)
    if view is None:
        raise no_such_bank()
    call.require_in_scope("banks", view.row.id)
    if permission:
        view = await call.ask(BANK, view.row.id, RequirePermission(viewer, permission))
    return view, viewer


async def recall_in_target_bank(call: Call, text: str, terms: tuple[str, ...], limit: int) -> RecalledMemories:
    """Recall memories of the bank that `target.bank` names; one ask, as a rule.

    Raises:
        NotFound: there is none of that name that the caller may see.
        NotPermitted: the caller may not read it, or the sender's API key is not for it.
    """

    async def recalled(bank_id: str) -> RecalledMemories:
        try:
            return await _recall(call, bank_id, RecallMemories(BankViewer(call.user.user_id), text, terms, limit))
        except NotPermitted:
            view, _ = await _read_bank(call, bank_id, BankViewer(call.user.user_id))
            if name_key(view.row.name) == name_key(call.target.bank or ""):
                raise
        raise no_such_bank()  # it had this name, which another bank may have now

    found = await named(call, "bank", call.target.bank or "", banks.id_by_name, recalled)
    if found is None:
        raise no_such_bank()
    call.require_in_scope("banks", found.row.id)
    return found


async def _recall(call: Call, bank_id: str, message: RecallMemories) -> RecalledMemories:
    """Recall from a bank; where its actor alone can't tell whether the caller sees it, ask the store."""
    try:
        return await call.ask(BANK, bank_id, message)
    except NotFound:
        if not await call.core.store.fetch(banks.opened_to(bank_id, call.user.user_id)):
            raise
    return await call.ask(BANK, bank_id, structs.replace(message, viewer=message.viewer._replace(access_granted=True)))


async def _read_bank(call: Call, bank_id: str, viewer: BankViewer) -> tuple[BankView, BankViewer]:
    """Read a bank; where its actor alone can't tell whether the caller sees it, ask the store."""
    try:
        return await call.ask(BANK, bank_id, ReadBank(viewer)), viewer
    except NotFound:
        if not await call.core.store.fetch(banks.opened_to(bank_id, viewer.user_id)):
            raise
    viewer = viewer._replace(access_granted=True)
    return await call.ask(BANK, bank_id, ReadBank(viewer)), viewer


async def target_agent_of(call: Call, view: BankView, *, withdraws: bool = False) -> tuple[str, str, str]:
    """Find the target agent of a bank's command: one that the caller sees or, for a reader of the bank, one in it.

    Beside another user as `target.user` only admins find one that they don't see, because its owner is not told.

    `withdraws`: an admin also finds an agent with only an offer, because the agent may have been hidden since.
    Returns its id, its owner's id and its name.

    Raises:
        NotFound: there is none of that name that the caller may see, or `target.user` is not its owner.
        NothingSelected: no name was given and nothing is selected.
        NotPermitted: the sender's API key is not for it.
    """
    name, fetch = call.target.agent, call.core.store.fetch
    tells_owner = view.permission == "admin" or is_for_caller(call)
    if name is not None and view.permission != "none" and tells_owner:
        found = await fetch(memories.wrote_in(view.row.id, name))
        if not found and withdraws and view.permission == "admin":
            found = await fetch(offers.offered_in(view.row.id, name))
        for agent_id in found:
            call.require_in_scope("agents", agent_id)
            for row in await fetch(agents.by_id(agent_id)):
                if not is_meant(call, row):
                    raise no_such_agent()
                return row.id, row.owner_id, row.name
    row = (await target_agent(call)).row
    return row.id, row.owner_id, row.name
