"""The ids of conversations and runs, which are made from what the store has anyway."""

import re
from hashlib import blake2b

_CONVERSATION = re.compile(r"cnv_([0-7][0-9a-f]{15})[0-9a-f]{16}\Z")
_RUN = re.compile(r"run_([0-9a-f]{32})\Z")
_REPLY = re.compile(r"(msg_[0-9a-f]{16})9([0-9a-f]{15})\Z")
_VARIANT = len("msg_") + 16
"""The place of the digit with a UUID's variant (RFC 9562, 4.1), which is 8 in the ids that are made new."""
OLDEST_NUMBER = 1 << 50
"""Smaller numbers of conversations are from before they told a time."""


def conversation_id(number: int, agent_id: str) -> str:
    """Return a conversation's id for clients: its number, a checksum of it, and the shard of its agent."""
    check = blake2b(number.to_bytes(8), digest_size=7).hexdigest()
    return f"cnv_{number:016x}{check}{agent_id[-2:]}"


def number_of(conversation: str) -> int | None:
    """Return the number in a conversation's id; None if it is no such id."""
    found = _CONVERSATION.match(conversation)
    return int(found[1], 16) if found else None


def began_at(number: int) -> int | None:
    """Return the time at which a conversation was made, in ms since the epoch; None if its number does not tell."""
    return number >> 22 if number >= OLDEST_NUMBER else None


def run_of(message_id: str) -> str:
    """Return the id of the run of a user's message."""
    return "run_" + message_id.removeprefix("msg_")


def reply_of(message_id: str) -> str:
    """Return the id of the reply to a user's message, known beforehand; it sorts right behind that message."""
    return f"{message_id[:_VARIANT]}9{message_id[_VARIANT + 1 :]}"


def answered_by(reply_id: str) -> str | None:
    """Return the id of the user's message that a reply answers; None if it is no reply's id."""
    found = _REPLY.match(reply_id)
    return f"{found[1]}8{found[2]}" if found else None


def message_of(run_id: str) -> str | None:
    """Return the id of the user's message of a run; None if it is no run's id."""
    found = _RUN.match(run_id)
    return "msg_" + found[1] if found else None
