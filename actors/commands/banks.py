"""The bank group: memory banks, and the permissions of agents in them."""

from actors.banks.messages import (
    BANK,
    Accepted,
    AcceptOffer,
    BankView,
    DestroyBank,
    Detach,
    Grant,
    UpdateBank,
    no_such_bank,
)
from actors.banks.records import attachment_record, bank_record
from actors.calls.admission import require_service_in_scope
from actors.calls.bank_targets import target_agent_of, target_bank
from actors.calls.call import Answer, Call
from actors.calls.paging import cursor, page_limit, page_of
from actors.calls.request import require_name
from actors.calls.targets import agent_named, own_target_agent, target_agent
from actors.calls.user_targets import is_for_caller, require_name_in_plan, require_own, target_user_id
from actors.commands.command import BANK_MEMBERS, NAMED, PAGE, Command, ToolDescription
from actors.errors import MissingField, NotFound, StateConflict
from actors.sessions.scopes import listed_ids
from actors.users.messages import USER, CreateBank
from persistence import banks, offers
from persistence.banks import BankChanges, BankRow
from persistence.users import name_key

# banks


async def create(call: Call) -> Answer:
    """MB_Create: create a bank that the caller owns, with one of its agents as admin."""
    require_own(call, "banks")
    call.require_in_scope("banks", None)
    name = call.vx.name or call.target.bank
    if name is None:
        raise MissingField("missing name field: send a text as `vx.name` or `target.bank`.")
    agent = await own_target_agent(call)
    message = CreateBank(require_name(name), call.vx.description, call.vx.access or "agent", agent.row.id)
    return await call.carry_out(USER, call.user.user_id, message, _shown)


async def update(call: Call) -> Answer:
    """MB_Update: replace name and description, and access where it is given."""
    name = require_name(call.vx.name or "")
    view, viewer = await target_bank(call, "admin")
    if name_key(name) != name_key(view.row.name):
        await require_name_in_plan(call, name, no_such_bank)
    changes = BankChanges(name, call.vx.description, call.vx.access)
    return await call.carry_out(BANK, view.row.id, UpdateBank(viewer, changes), _shown_anew, listed=True)


def _shown(row: BankRow) -> Answer:
    return Answer(profile=[bank_record(row)], shows=(row.id,))


def _shown_anew(view: BankView) -> Answer:
    return _shown(view.row)


async def destroy(call: Call) -> Answer:
    """MB_Destroy: remove a bank with all its memories."""
    view, viewer = await target_bank(call)
    answer = await call.carry_out(BANK, view.row.id, DestroyBank(viewer), lambda _: Answer(), listed=True)
    call.core.erasure.wake()
    return answer


async def list_banks(call: Call) -> Answer:
    """MB_List: the banks of the caller and its agents, or those of another user that the caller may see."""
    viewer, limit, ids = call.user.user_id, page_limit(call), listed_ids(call.scopes, "banks")
    prefix, after = call.target.bank or "", cursor(call, str) or ""
    if is_for_caller(call):
        query = banks.listed_for(viewer, prefix, after, limit + 1, ids)
    else:
        query = banks.visible_of(await target_user_id(call), viewer, prefix, after, limit + 1, ids)
    rows, following = page_of(call, await call.core.store.fetch(query), limit, lambda row: name_key(row.name))
    return Answer(profile=[bank_record(row) for row in rows], next=following)


# attachments


async def list_agents(call: Call) -> Answer:
    """MB_AgentList: a page of the agents that are attached to a bank or offered it, or one of them."""
    view, _ = await target_bank(call, "read")
    name, scopes = call.target.agent, call.scopes
    if name is not None and scopes is not None and scopes.agents is not None:
        await agent_named(call, name)
    elif name is not None and not is_for_caller(call):
        await target_agent_of(call, view, withdraws=True)
    return await _attachments(call, view, cursor(call, str) or "", name)


async def _attachments(call: Call, view: BankView, after: str, agent: str | None = None) -> Answer:
    limit = page_limit(call)
    rows = await call.core.store.fetch(offers.page_of_bank(view.row.id, agent, after, limit + 1))
    if agent is not None and not rows and not after:
        raise NotFound(
            "No agent of this name is attached to the bank or offered it; leave target.agent out to list all."
        )
    page, following = page_of(call, rows, limit, offers.position_of)
    return Answer(
        profile=[bank_record(view.row)],
        content=[attachment_record(row) for row in page],
        shows=(view.row.id,),
        next=following,
    )


async def permissions(call: Call) -> Answer:
    """MB_Permissions: read or set a bank's access and an agent's permission; offer more to another user's agent."""
    access, permission = call.vx.access, call.vx.permission
    call.mutates = access is not None or permission is not None
    require_service_in_scope(call)
    after = cursor(call, str) or ""
    if permission is not None and call.target.agent is None:
        raise MissingField("missing target.agent field: name the agent that gets this permission.")
    view, viewer = await target_bank(call, "read")

    def changed(after: BankView) -> Answer:
        nonlocal view
        view = after
        return Answer()

    if permission is not None:
        agent_id, owner_id, name = await target_agent_of(call, view, withdraws=permission == "none")
        grant = Grant(viewer, agent_id, owner_id, name, permission, access)
        await call.carry_out(BANK, view.row.id, grant, changed, repeatable=True, listed=True)
    elif access is not None:
        update = UpdateBank(viewer, BankChanges(access=access))
        await call.carry_out(BANK, view.row.id, update, changed, repeatable=True, listed=True)
    else:
        call.waive_receipt(reads=True)
    return await _attachments(call, view, after)


async def accept(call: Call) -> Answer:
    """MB_Accept: attach one of the caller's agents to a bank that it is offered."""
    view, viewer = await target_bank(call, answers=True)
    agent = (await target_agent(call)).row
    try:
        message = AcceptOffer(viewer, agent.id, agent.owner_id)
        return await call.carry_out(BANK, view.row.id, message, _accepted, listed=True)
    except StateConflict:
        await target_bank(call, answers=True)  # its offers go with the bank, which may be gone meanwhile
        raise


def _accepted(accepted: Accepted) -> Answer:
    return Answer(
        profile=[bank_record(accepted.view.row)],
        content=[attachment_record(accepted.attachment)],
        shows=(accepted.view.row.id,),
    )


async def unload(call: Call) -> Answer:
    """MB_Unload: detach an agent, or decline or withdraw an offer."""
    view, viewer = await target_bank(call, answers=True)
    agent_id, owner_id, _ = await target_agent_of(call, view, withdraws=True)
    return await call.carry_out(BANK, view.row.id, Detach(viewer, agent_id, owner_id), _shown_anew, listed=True)


COMMANDS = (
    Command(
        "MB_Accept",
        "Accept an offer: attach one of your agents to the bank. Until then, the offer has no effect.",
        accept,
        uses=BANK_MEMBERS,
        requires=("target.bank",),
        profile="bank",
        content=("attachment",),
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"bank": "field-notes", "agent": "scout"}},
        tool=ToolDescription(
            "Accept an offered bank",
            "Attach one of your agents to a memory bank that another user offers it. Find offers with AP_Read; "
            "name the agent, or select it first.",
            idempotent=True,
        ),
    ),
    Command(
        "MB_AgentList",
        "List the agents that are attached to a bank or offered it, with their permissions.",
        list_agents,
        uses=(*BANK_MEMBERS, *PAGE),
        requires=("target.bank",),
        profile="bank",
        content=("attachment",),
        mutates=False,
        errors=(2003, 3000),
        example={"target": {"bank": "field-notes"}},
        tool=ToolDescription(
            "List a bank's agents",
            "List the agents that are attached to a memory bank or are offered it, with their permissions.",
        ),
    ),
    Command(
        "MB_Create",
        "Create a bank, with one of your agents as its admin.",
        create,
        uses=("target.user", *BANK_MEMBERS, "vx.name", "vx.description", "vx.access"),
        profile="bank",
        errors=(2003, 2004, 3000, 3001, 3003),
        example={"target": {"agent": "scout"}, "vx": {"name": "field-notes", "description": "What scout found"}},
        tool=ToolDescription(
            "Create a memory bank",
            "Create a memory bank, with one of your agents as its admin. Name the agent, or select one first "
            "with AP_Select.",
        ),
    ),
    Command(
        "MB_Destroy",
        "Remove one of your banks with all its memories.",
        destroy,
        uses=("target.bank",),
        requires=("target.bank",),
        errors=(2003, 3000),
        example={"target": {"bank": "field-notes"}},
        tool=ToolDescription(
            "Delete a memory bank",
            "Delete a memory bank of yours with all its memories, for good.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "MB_List",
        "List the banks of you and your agents, or another user's banks that you may see.",
        list_banks,
        uses=("target.user", "target.bank", *PAGE),
        profile="bank",
        mutates=False,
        errors=(3000,),
        example={"target": {"bank": "field"}},
        tool=ToolDescription(
            "List memory banks",
            "List your memory banks and those of your agents, or another user's banks that you may see. Use it "
            "to find a bank's exact name.",
        ),
    ),
    Command(
        "MB_Permissions",
        "Read or set a bank's access and an agent's permission; another user's agent is only offered more.",
        permissions,
        uses=(*BANK_MEMBERS, "vx.access", "vx.permission", *PAGE),
        requires=("target.bank",),
        profile="bank",
        content=("attachment",),
        may_only_read=True,
        errors=(2003, 3000, 3003),
        example={"target": {"bank": "field-notes", "agent": "scout"}, "vx": {"permission": "write"}},
        tool=ToolDescription(
            "Read or set a bank's permissions",
            "Read who may see and use a memory bank, or set it: the bank's access, or one agent's permission. "
            "Another user's agent is only offered more rights until its owner accepts.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "MB_Unload",
        "Detach an agent from a bank, or decline its offer.",
        unload,
        uses=BANK_MEMBERS,
        requires=("target.bank",),
        profile="bank",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"bank": "field-notes", "agent": "scout"}},
        tool=ToolDescription(
            "Detach an agent from a bank",
            "Detach an agent from a memory bank, or decline a bank that it is offered. Takes the selected "
            "agent if none is named.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "MB_Update",
        "Replace a bank's name and description, and its access where that is given.",
        update,
        uses=("target.bank", "vx.name", "vx.description", "vx.access"),
        requires=(*NAMED, "target.bank"),
        profile="bank",
        errors=(2003, 2004, 3000, 3001),
        example={
            "target": {"bank": "field-notes"},
            "vx": {"name": "field-notes", "description": "All that scout found"},
        },
        tool=ToolDescription(
            "Change a memory bank",
            "Replace a memory bank's name and description, and its access if given. The memories stay.",
            destructive=True,
            idempotent=True,
        ),
    ),
)
