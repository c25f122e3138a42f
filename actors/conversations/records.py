"""A message as clients see it."""

from actors.engines.message import Utterance
from actors.wire import Record, iso


def message_record(message: Utterance, zone: str | None = None) -> Record:
    """Return the record of a message (docs/contract.md, "Records")."""
    id, role, name, content, seq, at, sources = message
    return {
        "id": id,
        "role": role,
        "name": name,
        "content": content,
        "at": iso(at),
        "zone": zone,
        "seq": seq,
        "sources": [source.record() for source in sources],
    }
