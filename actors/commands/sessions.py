"""Sessions of users: log-on, log-off, their list and their ends."""

import orjson

from actors.calls.call import Answer, Call
from actors.calls.paging import cursor, page_limit, page_of
from actors.commands import passwords
from actors.errors import InvalidCredential, NotFound, NotPermitted
from actors.sessions.messages import SESSION, TOUCH_MS, Caller, EndSession, ReadSession
from actors.sessions.records import session_record
from actors.sessions.tokens import SESSION_TOKEN, new_token, token_hash
from actors.users.held_credentials import MAX_SESSIONS
from actors.users.messages import USER, OpenSession, ReadSessions, RevokeSessions, wrong_password
from actors.wire import Record
from persistence import credentials


async def log_on(call: Call) -> Answer:
    """US_LogOn: exchange a password for a session token."""
    core = call.core
    name = call.target.user or ""
    secret = call.vx.secret or ""
    user = await passwords.verified(call, name, secret)
    token = new_token(SESSION_TOKEN)
    gone, target = await _ended_sessions(call, user.id), orjson.dumps({"user": name}).decode()
    place = passwords.place_digest(call)
    opening = OpenSession(user.secret_hash, token_hash(token), place, gone, call.address, target, call.request_id)
    try:
        session, _ = await call.ask(USER, user.id, opening)
    except NotFound:  # destroyed since its password was checked
        raise wrong_password() from None
    call.sent_by(Caller(session.id, session.user_id, session.user_name, session.agent_id))
    record = session_record(session, core.session_ttl_ms, current=True)
    content = {"token": token, "token_type": "Bearer", "expires_at": record["expires_at"]}
    return Answer(profile=[record], content=[content])


async def _ended_sessions(call: Call, user_id: str) -> frozenset[str]:
    """Find ended sessions that the user's actor still counts; looks only if it counts many."""
    core = call.core
    counted = await call.ask(USER, user_id, ReadSessions())
    if len(counted) < MAX_SESSIONS // 2:
        return frozenset()
    used_since = core.clock() - core.session_ttl_ms - 2 * TOUCH_MS  # the stored time of a last use may lag behind
    return frozenset(counted).difference(await core.store.fetch(credentials.ids_used_since(user_id, used_since)))


async def log_off(call: Call) -> Answer:
    """US_LogOff: end this session."""

    def ended_now(_: None) -> Answer:
        call.logged_off()
        return Answer()

    return await call.carry_out(SESSION, _own_session(call), EndSession("logged off"), ended_now)


async def end_own(call: Call) -> None:
    """End the session of a request of the console's page, on whichever node it is.

    Raises:
        NotPermitted: the credential is an API key.
    """
    await call.ask(SESSION, _own_session(call), EndSession("logged off"))


def _own_session(call: Call) -> str:
    if call.user.kind != SESSION:
        raise NotPermitted("An API key has no session to end; revoke it with DELETE /api/api-keys/{id}.")
    return call.user.credential_id


async def list_sessions(call: Call) -> Answer:
    """US_Sessions: the caller's live sessions, in order of creation."""
    core, limit = call.core, page_limit(call)
    # The stored time of a last use may be a minute old, so the session's actor decides.
    used_since = core.clock() - core.session_ttl_ms - TOUCH_MS
    found = await core.store.fetch(
        credentials.of_user(call.user.user_id, cursor(call, str) or "", used_since, limit + 1)
    )
    records: list[Record] = []
    rows, following = page_of(call, found, limit, lambda row: row.id)
    for row in rows:
        try:
            session = await call.ask(SESSION, row.id, ReadSession())
        except InvalidCredential:
            continue
        records.append(session_record(session, core.session_ttl_ms, row.id == call.user.credential_id))
    return Answer(profile=records, next=following)


async def revoke(call: Call) -> Answer:
    """US_Revoke: end one of the caller's sessions, or all others."""
    which, user = call.vx.name or "", call.user
    if which == "all":
        return await call.carry_out(USER, user.user_id, RevokeSessions(user.credential_id), lambda _: Answer())
    found = await call.core.store.fetch(credentials.by_id(which))
    if not found or (found[0].user_id, found[0].kind) != (user.user_id, "session"):
        raise NotFound("You have no such session; list yours with US_Sessions.")

    def revoked(_: None) -> Answer:
        if which == user.credential_id:
            call.logged_off()
        return Answer()

    try:
        return await call.carry_out(SESSION, which, EndSession(), revoked)
    except InvalidCredential:
        raise NotFound("That session has ended already.") from None
