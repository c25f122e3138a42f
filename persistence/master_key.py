"""The proof of the master key: something that it sealed, to know a wrong one by."""

from persistence.store import Query, Write

PROOF: Query[bytes] = Query("SELECT proof FROM master_key", (), lambda row: row[0])
"""The proof, once a gateway has run on this database."""


def keep(proof: bytes) -> Write:
    """Keep the proof of the first key."""
    return Write("INSERT INTO master_key (proof) VALUES (?)", (proof,))
