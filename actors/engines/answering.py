"""How engines are run for private chats and zones alike."""

import logging

from actors.errors import EngineFailed, ServiceError

log = logging.getLogger("parley.engine")


def engine_error(raised: Exception, who: str) -> ServiceError:
    """Say what an engine's failure means to the caller; what it did not say itself is logged."""
    if isinstance(raised, ServiceError):
        return raised
    log.error("the chat engine failed for %s", who, exc_info=raised)
    return EngineFailed(
        "The chat engine failed on this message, which is kept; send it again with its Idempotency-Key to go on."
    )
