"""The rows of what a user creates: its sessions, keys, agents, domains and banks."""

from actors.ids import new_id, new_number
from actors.names import require_name_allowed
from actors.plans import PLANS, require_entitled
from actors.users.messages import CreateAgent, CreateBank, CreateDomain, CreateKey, OpenSession
from persistence import audit, credentials
from persistence.agents import AgentRow
from persistence.banks import BankRow
from persistence.credentials import SessionRow
from persistence.domains import DomainRow
from persistence.store import Write
from persistence.users import UserRow


def session_writes(session: SessionRow, message: OpenSession, plan: str) -> tuple[Write, ...]:
    """Store a session, with the log-on's row on a plan with an audit log; the new session is its credential."""
    stored = credentials.insert(session)
    if not PLANS[plan].audited:
        return (stored,)
    user_id, at, address, target = session.user_id, session.created_at, message.address, message.target
    return stored, audit.insert(user_id, at, session.id, address, "US_LogOn", target, 0, message.request_id)


def new_key(user: UserRow, message: CreateKey, now: int) -> SessionRow:
    """Make the row of an API key.

    Raises:
        NeedsPlan: the user's plan has no API keys.
    """
    require_entitled(user.plan)
    return SessionRow(
        id=new_id("key", near=user.id),
        user_id=user.id,
        user_name=user.name,
        token_hash=message.token_hash,
        created_at=now,
        last_used_at=0,
        kind="key",
        name=message.name,
        prefix=message.prefix,
        expires_at=None if message.lives_ms is None else now + message.lives_ms,
        scopes=message.scopes,
        day_limit=message.day_limit,
    )


def new_agent(user: UserRow, message: CreateAgent, now: int) -> AgentRow:
    """Make the row of an agent.

    Raises:
        NeedsPlan: the name is too short for the user's plan.
    """
    require_name_allowed(message.name, user.plan)
    return AgentRow(
        id=new_id("agt", near=user.id),
        owner_id=user.id,
        owner=user.name,
        name=message.name,
        description=message.description,
        profile=message.profile,
        access=message.access,
        online=False,
        created_at=now,
        updated_at=now,
    )


def new_domain(user: UserRow, message: CreateDomain, now: int) -> DomainRow:
    """Make the row of a domain.

    Raises:
        NeedsPlan: the name is too short for the user's plan.
    """
    require_name_allowed(message.name, user.plan)
    return DomainRow(
        id=new_id("dom", near=user.id),
        owner_id=user.id,
        owner=user.name,
        founder_id=message.founder_id,
        founder=message.founder,
        name=message.name,
        description=message.description,
        profile=message.profile,
        access=message.access,
        created_at=now,
        updated_at=now,
    )


def new_bank(user: UserRow, message: CreateBank, now: int) -> BankRow:
    """Make the row of a bank, which the store numbers.

    Raises:
        NeedsPlan: the name is too short for the user's plan.
    """
    require_name_allowed(message.name, user.plan)
    return BankRow(
        number=0,
        id=new_id("bnk", near=user.id),
        owner_id=user.id,
        owner=user.name,
        name=message.name,
        description=message.description,
        access=message.access,
        memories=0,
        created_at=now,
        updated_at=now,
        collection=new_number(),
    )
