"""Work in the thread of a connection; the only use of aiosqlite's private parts, whose version is pinned."""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

import aiosqlite

T = TypeVar("T")


def on_thread_of(connection: aiosqlite.Connection, work: Callable[[sqlite3.Connection], T]) -> "asyncio.Future[T]":
    """Run work as one trip to a connection's thread, begun at once; its own coroutines begin in the loop's next step.

    Raises:
        ValueError: the connection is closed.
    """
    inner: sqlite3.Connection = connection._conn  # pyright: ignore[reportPrivateUsage]
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    thread: Any = connection
    thread._tx.put_nowait((future, lambda: work(inner)))
    return future
