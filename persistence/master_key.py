"""The proof of the master key: a value sealed with it, by which a wrong key is recognized."""

from persistence.store import Query, Write

PROOF: Query[bytes] = Query("SELECT proof FROM master_key", (), lambda row: row[0])
"""The proof, once a gateway has run on this database."""


def keep(proof: bytes) -> Write:
    """Store the proof of the first key, if none is stored."""
    return Write("INSERT INTO master_key (proof) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM master_key)", (proof,))
