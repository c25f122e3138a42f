"""Connections to PostgreSQL: how they are opened, checked, and told to be lost; messages for the operator."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from urllib.parse import unquote, urlsplit

import asyncpg

from persistence.store import StoreError

OLDEST = 15
"""The oldest major version of PostgreSQL that is used."""

CONNECT_S = 5.0
"""The longest time to open a connection, in seconds."""

COMMAND_S = 60.0
"""The longest time of a statement, in seconds; then the connection counts as lost."""

STATEMENTS = 1_024
"""The number of prepared statements that a connection keeps: more than the gateway has."""

FORBIDDEN = "42501"
"""The error of a statement that the role may not run."""

_LOST_SEVERITIES = ("FATAL", "PANIC")
_CONNECTION_EXCEPTION = "08"
_DATA_EXCEPTION = "22"

_SESSION = {
    "default_transaction_isolation": "read committed",  # a statement sees what was stored before it had the lock
    "jit": "off",  # it costs more than these short statements
    "idle_in_transaction_session_timeout": "60s",
    "lock_timeout": "0",
    "statement_timeout": "0",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
}

_REMEDIES = {
    "28P01": "the user or the password is wrong: correct it in PARLEY_STORE_URL, or in the file that PGPASSFILE names.",
    "28000": "the server does not admit this user from here: correct PARLEY_STORE_URL, or the server's pg_hba.conf.",
    "3D000": "there is no such database: make it with createdb, or name another in PARLEY_STORE_URL.",
    "42P07": "it has tables of another program: make an empty database with createdb, and name that.",
    FORBIDDEN: "the user may not do this: make it the owner of the database (ALTER DATABASE ... OWNER TO).",
    "25006": "it is read-only: name the primary server, or reset default_transaction_read_only for it and this user.",
    "53300": "the server takes no more connections: raise its max_connections, or the user's CONNECTION LIMIT.",
    "57P03": "the server does not take connections now: wait until it has started.",
}

_OF_PARAMETERS = ("42704", "22023")  # one that the server doesn't know, or a value that it doesn't take


def described(url: str) -> str:
    """Name a database for people: user, host and name, without a password."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    socket = re.search(r"(?:^|&)host=([^&]*)", parts.query)
    if not place and socket is not None:
        place = unquote(socket.group(1))
    return f"postgresql {place}{parts.path}"


async def connect(
    url: str,
    name: str,
    *,
    read_only: bool = False,
    hurried: bool = True,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> asyncpg.Connection:
    """Open a connection; `name` shows what it is for, in the server's `pg_stat_activity`.

    `hurried`: statements and idle transactions end after `COMMAND_S`. `settings` are the session's own.
    """
    of_session = _SESSION | {"application_name": name}
    if not hurried:
        of_session["idle_in_transaction_session_timeout"] = "0"
    if read_only:
        of_session["default_transaction_read_only"] = "on"
    return await asyncpg.connect(
        url,
        timeout=CONNECT_S,
        command_timeout=COMMAND_S if hurried else None,
        statement_cache_size=STATEMENTS,
        max_cached_statement_lifetime=0,
        server_settings={**of_session, **settings},
    )


@asynccontextmanager
async def connected(url: str, name: str) -> AsyncGenerator[asyncpg.Connection]:
    """Open a connection as `connect` does, for a while, and end it in an orderly way."""
    connection = await connect(url, name)
    try:
        yield connection
    finally:
        await connection.close(timeout=5)


def is_statements_own(connection: asyncpg.Connection, error: Exception) -> bool:
    """Return whether an error refuses one statement, so that the connection can still be used.

    Any other error, known or not, means that the connection is lost: asyncpg reports some losses as faults of its own
    (if the server ended the session while it was idle: "cannot switch to state 15").
    """
    if connection.is_closed():
        return False
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        return error.severity_en not in _LOST_SEVERITIES and not state.startswith(_CONNECTION_EXCEPTION)
    return isinstance(error, asyncpg.InterfaceError)  # the statement takes other parameters: nothing was sent


def reason(error: BaseException | None) -> str:
    """Return the reason of an error without any value of a row, because it goes to the log."""
    if not isinstance(error, asyncpg.PostgresError):
        return str(error)
    message = error.message or str(error.args[0] if error.args else error)  # its text has the failing row
    return message.partition(":")[0] if (error.sqlstate or "").startswith(_DATA_EXCEPTION) else message


def told(error: BaseException | None) -> str | None:
    """Tell everyone why a database can't be used, without names and addresses; None if that needs them."""
    remedy = _REMEDIES.get(getattr(error, "sqlstate", None) or "")
    return None if remedy is None else remedy.partition(":")[0]


async def check(connection: asyncpg.Connection, url: str) -> None:
    """Refuse a server that is too old, can't be written, or may lose commits.

    Raises:
        StoreError: the message gives the reason and the remedy.
    """
    row = await connection.fetchrow(
        "SELECT CAST(current_setting('server_version_num') AS integer) / 10000, current_setting('server_version'),"
        " current_setting('fsync'), current_setting('synchronous_commit'), current_setting('server_encoding'),"
        " pg_is_in_recovery()"
    )
    assert row is not None
    major, version, fsync, synchronous_commit, encoding, is_replica = row
    place = described(url)
    if major < OLDEST:
        raise StoreError(f"{place} is PostgreSQL {version}; version {OLDEST} or newer is needed: upgrade the server.")
    if encoding != "UTF8":
        raise StoreError(f"{place} has the encoding {encoding}: make a database with ENCODING 'UTF8' and name that.")
    if is_replica:
        raise StoreError(f"{place} is a replica, which can't be written: name the primary server in PARLEY_STORE_URL.")
    if fsync == "off":
        raise StoreError(
            f"{place} has fsync = off, so a crash of its machine loses the database:"
            " set fsync = on in postgresql.conf and reload the server."
        )
    if synchronous_commit == "off":
        raise StoreError(
            f"{place} has synchronous_commit = off, so a crash loses changes that were acknowledged:"
            " set it to on for this server, database and user (ALTER SYSTEM, ALTER DATABASE, ALTER ROLE)."
        )


def unusable(url: str, error: Exception) -> str:
    """Explain why a database can't be used, and what to do."""
    state = getattr(error, "sqlstate", None) or ""
    if state in _REMEDIES:
        return f"{described(url)} can't be used: {_REMEDIES[state]}"
    if state in _OF_PARAMETERS:
        return f"{described(url)} can't be used: {error}: correct it after the ? in PARLEY_STORE_URL, or take it out."
    if isinstance(error, asyncio.TimeoutError):
        return f"{described(url)} does not answer: see that the server runs and can be reached from here."
    if isinstance(error, ConnectionError) and "SSL" in str(error):
        return f"{described(url)} has no TLS: set ssl = on in postgresql.conf, or take sslmode out of PARLEY_STORE_URL."
    if isinstance(error, OSError):
        return f"{described(url)} can't be reached ({error}): start the server, or correct PARLEY_STORE_URL."
    return f"{described(url)} can't be used: {error}"
