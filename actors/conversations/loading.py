"""Loading conversations and zones when something is first said there."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import TypeVar

from actors.errors import InternalError, ServiceError, StorageUnavailable
from persistence.store import StoreUnavailable

T = TypeVar("T")


async def read_or_error(what: str, read: Awaitable[T], actor_urn: str, log: logging.Logger) -> T | ServiceError:
    """Return what is read of a conversation or zone, or the error for those who wait for it."""
    try:
        return await read
    except ServiceError as error:
        return error
    except StoreUnavailable:
        return StorageUnavailable(f"The gateway could not read this {what}; try again.")
    except Exception:
        log.exception("%s failed to load a %s", actor_urn, what)
        return InternalError(f"This {what} can't be read; the fault has been logged.")
