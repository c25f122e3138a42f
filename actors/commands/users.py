"""The user group: registration and the user itself; its commands of sessions are in `sessions.py`."""

from collections.abc import Generator
from contextlib import contextmanager

from actors.addresses import network_of
from actors.calls.call import Answer, Call
from actors.calls.request import require_name, require_secret
from actors.commands import passwords, sessions
from actors.commands.command import PAGE, Command, ToolDescription
from actors.commands.memberships import record_departures
from actors.errors import InvalidField, NotFound, NotPermitted
from actors.ids import new_id
from actors.names import name_taken, require_name_allowed
from actors.plans import daily_limit, next_midnight
from actors.quotas.messages import QUOTA, QuotaStatus, ReadQuota
from actors.sessions.messages import ended
from actors.users.fair_queue import SenderLane
from actors.users.messages import USER, DestroyUser, ReadUser, UpdateUser
from actors.users.records import Owned, own_user_record
from persistence import conversations, domains, users
from persistence.store import Unit
from persistence.users import SANDBOX_PREFIX, UserRow, has_sandbox_name, name_key


async def create(call: Call) -> Answer:
    """US_Create: register."""
    core = call.core
    if not core.options.registration_open and not call.by_secret:
        raise NotPermitted("Registration is closed here; ask the operator for an account.")
    name = require_name(call.vx.name or "")
    secret = require_secret(call.vx.secret or "")
    if has_sandbox_name(name):
        raise InvalidField(
            f"Invalid value of vx.name: names that begin with {SANDBOX_PREFIX} are for the users of sandbox keys; "
            "choose another."
        )
    if name_key(name) not in core.operators:
        require_name_allowed(name, core.options.default_plan)
    elif not call.by_secret:
        raise NotPermitted(
            "This name is an operator's; register it with X-Internal-Secret, the gateway's INTERNAL_SECRET. "
            "If the gateway has none, set one and start it again."
        )
    with core.registrations.taken(
        network_of(call.address), "Too many registrations from this address in the last hour; try again later."
    ):
        user = await _registered(call, name, secret)
    fresh = QuotaStatus(user.plan, daily_limit(user.plan, None), 0, next_midnight(user.created_at))
    return Answer(profile=[own_user_record(user, Owned(), fresh)])


async def _registered(call: Call, name: str, secret: str) -> UserRow:
    core = call.core
    if await core.store.fetch(users.id_by_name(name)):
        raise name_taken()
    secret_hash = await core.hasher.hash(secret, SenderLane(network_of(call.address)))
    user = UserRow(
        id=new_id("usr"),
        name=name,
        description=call.vx.description,
        profile=call.vx.profile,
        secret_hash=secret_hash,
        plan=core.options.default_plan,
        plan_limit=None,
        created_at=core.clock(),
        development_plan=core.options.development_plan,
    )
    await core.store.commit(Unit((users.insert(user),), constraint_errors={users.NAME_TAKEN: name_taken}))
    return user


async def read(call: Call) -> Answer:
    """US_Read: the caller's own record."""
    owned, user_id = await _owned(call), call.user.user_id
    with _ended_if_gone():
        user = await call.ask(USER, user_id, ReadUser())
    return Answer(profile=[own_user_record(user, owned, await call.ask(QUOTA, user_id, ReadQuota()))])


async def update(call: Call) -> Answer:
    """US_Update: change the given members; a new password ends the other sessions."""
    description, profile = call.vx.description, call.vx.profile
    secret, user_id = call.vx.secret, call.user.user_id
    if description is None and profile is None and secret is None:
        raise InvalidField("Invalid value of vx: give at least one of description, profile and secret.")
    secret_hash = None if secret is None else await passwords.hashed(call, secret)
    owned = await _owned(call)  # before the change, which must not fail on a read once it is stored
    quota = await call.ask(QUOTA, user_id, ReadQuota())
    change = UpdateUser(call.user.credential_id, description, profile, secret_hash)
    return await call.carry_out(
        USER, user_id, change, lambda user: Answer(profile=[own_user_record(user, owned, quota)])
    )


async def destroy(call: Call) -> Answer:
    """US_Destroy: remove the caller and all it owns."""
    with _ended_if_gone():
        user = await passwords.own_verified(call, call.vx.secret or "")
        call.waive_receipt()  # nobody is left to ask again, or to read the log
        await remove(call, user.id, user.secret_hash, call.user.credential_id)
    call.logged_off()
    return Answer()


async def remove(call: Call, user_id: str, verified_hash: str, session_id: str = "") -> None:
    """Remove a user and all it owns, by request with a session or by nobody's."""
    core = call.core
    met = tuple(await core.store.fetch(conversations.agents_met_by(user_id)))
    left: dict[str, list[str]] = {}
    for domain_id, agent in await core.store.fetch(domains.of_owner(user_id)):
        left.setdefault(domain_id, []).append(agent)
    await call.ask(USER, user_id, DestroyUser(verified_hash, met, tuple(left), session_id))
    core.erasure.wake()
    await record_departures(call, left)


@contextmanager
def _ended_if_gone() -> Generator[None]:
    """Refuse a request whose user was destroyed since it was admitted as one whose credential has ended."""
    try:
        yield
    except NotFound:
        raise ended() from None


async def _owned(call: Call) -> Owned:
    (counts,) = await call.core.store.fetch(users.owned(call.user.user_id))
    return Owned(*counts)


COMMANDS = (
    Command(
        "US_Create",
        "Register a user. Needs no credential.",
        create,
        uses=("vx.name", "vx.secret", "vx.description", "vx.profile"),
        requires=("vx.name", "vx.secret"),
        profile="own_user",
        public=True,
        errors=(2003, 2004, 3001, 4001),
        example={"vx": {"name": "lovelace", "secret": "correct horse battery"}},
        tool=ToolDescription(
            "Register a user",
            "Register a new user with a name and a password. Needs no credential; log on with US_LogOn afterwards.",
        ),
    ),
    Command(
        "US_LogOn",
        "Log on with name and password to get a session token. Needs no credential.",
        sessions.log_on,
        uses=("target.user", "vx.secret"),
        requires=("target.user", "vx.secret"),
        profile="session",
        content=("token",),
        public=True,
        errors=(2002, 4001),
        example={"target": {"user": "lovelace"}, "vx": {"secret": "correct horse battery"}},
        tool=ToolDescription(
            "Log on",
            "Log on with name and password to get a session token. Needs no credential; send the token as "
            "`Authorization: Bearer ...` from the next connection on.",
        ),
    ),
    Command(
        "US_LogOff",
        "End this session.",
        sessions.log_off,
        errors=(2003,),
        example={},
        tool=ToolDescription(
            "Log off",
            "End the session that this request was sent with; its token is refused afterwards. Only for "
            "sessions, not for API keys.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "US_Sessions",
        "List your sessions.",
        sessions.list_sessions,
        uses=PAGE,
        profile="session",
        mutates=False,
        example={},
        tool=ToolDescription(
            "List sessions",
            "List your sessions with their ids and last use. Use it to find a session to end with US_Revoke.",
        ),
    ),
    Command(
        "US_Revoke",
        "End one session by its id, or `all` others.",
        sessions.revoke,
        uses=("vx.name",),
        requires=("vx.name",),
        errors=(3000,),
        example={"vx": {"name": "all"}},
        tool=ToolDescription(
            "End sessions",
            "End one of your sessions by its id, or all but the current one. Take the id from US_Sessions.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "US_Read",
        "Read your own record, with quota and counts.",
        read,
        profile="own_user",
        mutates=False,
        example={},
        tool=ToolDescription(
            "Read your user record",
            "Read your own user record: plan, requests left today, and the number of agents, domains and banks "
            "you own.",
        ),
    ),
    Command(
        "US_Update",
        "Change your description, profile or password; a new password needs a session and ends the others.",
        update,
        uses=("vx.description", "vx.profile", "vx.secret"),
        profile="own_user",
        errors=(2003, 4001),
        example={"vx": {"description": "Mathematician"}},
        tool=ToolDescription(
            "Change your user record",
            "Change your description, profile or password. A new password ends your other sessions.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "US_Destroy",
        "Remove your user and all it owns; needs a session and the password.",
        destroy,
        uses=("vx.secret",),
        requires=("vx.secret",),
        errors=(2002, 2003, 4001),
        example={"vx": {"secret": "correct horse battery"}},
        tool=ToolDescription(
            "Delete your user",
            "Delete your user with all its agents, domains, banks and keys, for good. Needs your password.",
            destructive=True,
            idempotent=True,
        ),
    ),
)
