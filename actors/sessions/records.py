"""Sessions and API keys as clients see them."""

from actors.sessions.scopes import scopes_record
from actors.wire import Record, iso
from persistence.credentials import SessionRow


def session_record(session: SessionRow, ttl_ms: int, current: bool) -> Record:
    """Return the record of a session, for its user."""
    return {
        "id": session.id,
        "created_at": iso(session.created_at),
        "last_used_at": iso(session.last_used_at),
        "expires_at": iso(session.last_used_at + ttl_ms),
        "current": current,
    }


def key_record(key: SessionRow) -> Record:
    """Return the record of an API key, for its user, without the key itself."""
    scoped = {} if key.scopes is None else {"scopes": scopes_record(key.scopes)}
    limited = {} if key.day_limit is None else {"limit": key.day_limit}
    return {
        "id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "created_at": iso(key.created_at),
        "expires_at": None if key.expires_at is None else iso(key.expires_at),
        **scoped,
        **limited,
    }
