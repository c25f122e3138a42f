"""Removal of many texts of a bank from the full-text index at once, for which its triggers would take much longer."""

from persistence.store import Params, Write

_COLLECTION = "(SELECT number FROM collections WHERE bank_id = ?)"


def clear_bank(bank_id: str) -> tuple[Write, ...]:
    """Take all memories of a bank out of the index, by ranges instead of one by one."""
    return (
        # first, because the triggers of PostgreSQL do nothing for the texts of a collection that counts none
        Write("UPDATE collections SET texts = 0, words = 0 WHERE bank_id = ?", (bank_id,)),
        Write(
            f"DELETE FROM postings WHERE term IN (SELECT number FROM vocabulary WHERE collection = {_COLLECTION})",
            (bank_id,),
        ),
        Write(f"DELETE FROM vocabulary WHERE collection = {_COLLECTION}", (bank_id,)),
        Write(f"DELETE FROM indexed_texts WHERE collection = {_COLLECTION}", (bank_id,)),
    )


def clear_many(bank_id: str, condition: str, params: Params) -> tuple[Write, ...]:
    """Take the memories of a bank that meet a condition out of the index, in one walk through all of its postings."""
    chosen = f"(SELECT place FROM memories WHERE {condition})"
    return (
        Write(
            f"DELETE FROM postings WHERE term IN (SELECT number FROM vocabulary WHERE collection = {_COLLECTION})"
            f" AND +document IN {chosen}",  # with the +, SQLite does not seek each document under each term
            (bank_id, *params),
        ),
        Write(
            f"DELETE FROM vocabulary WHERE collection = {_COLLECTION}"
            " AND NOT EXISTS (SELECT 1 FROM postings WHERE postings.term = vocabulary.number)",
            (bank_id,),
        ),
        Write(
            "UPDATE vocabulary SET documents = (SELECT count(*) FROM postings WHERE postings.term = vocabulary.number)"
            f" WHERE collection = {_COLLECTION}",
            (bank_id,),
        ),
        # without terms, so that the trigger finds no postings to remove
        Write(
            f"UPDATE indexed_texts SET terms = '[]' WHERE collection = {_COLLECTION} AND document IN {chosen}",
            (bank_id, *params),
        ),
        Write(
            f"DELETE FROM indexed_texts WHERE collection = {_COLLECTION} AND document IN {chosen}", (bank_id, *params)
        ),
        Write(  # no text is left, and the trigger counts none without a vocabulary
            "UPDATE collections SET texts = 0, words = 0 WHERE bank_id = ?"
            " AND NOT EXISTS (SELECT 1 FROM vocabulary WHERE vocabulary.collection = collections.number)",
            (bank_id,),
        ),
    )
