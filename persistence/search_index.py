"""The full-text index: collections of texts, the terms that they have, and the texts that match terms best.

A collection is what is searched together: a bank, a private conversation or a zone. Rows of the index go by trigger
with the memory's or message's text, and with their collection.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import islice
from typing import Any, NamedTuple

import orjson

from persistence.store import Params, Query, Write

DONE = 2**63 - 1
"""The value of `reached` of a bank whose memories are all indexed."""

MAX_TERMS = 1_024
"""The number of distinct terms of a text that are indexed, the first ones; bounds the rows of hostile texts."""

_AFTER_ALL = "\U0010ffff"  # sorts after every other character


class CountedTerms(NamedTuple):
    """The terms of a text: how many there are, and how often it has each of the first `MAX_TERMS` distinct ones."""

    length: int
    times: dict[str, int]


def counted(terms: Sequence[str]) -> CountedTerms:
    """Count the terms of a text, given in order with repetitions."""
    return CountedTerms(len(terms), dict(islice(Counter(terms).items(), MAX_TERMS)))


class IndexedText(NamedTuple):
    """A text as the index takes it: its terms in order with repetitions, or counted.

    `document` is a memory's place in its bank, or a message's seq. `whole` and `part`: of a memory named `x/n`, x and
    n; of a message, an empty text and the number of its turn.
    """

    document: int
    whole: str
    part: int
    terms: Sequence[str] | CountedTerms


class Collection(NamedTuple):
    """A collection as stored: the tokenizer's version, how far it is indexed, its texts and their length in terms.

    `reached`: of a conversation or zone, every message up to this seq is indexed, and one that states nothing has no
    row. Of a bank, every memory up to this place; `DONE` if all are.
    """

    number: int
    version: str
    reached: int
    texts: int
    words: int


class Frequency(NamedTuple):
    """A term of a collection: its number, and the number of texts that have it."""

    term: str
    number: int
    documents: int


# collections


def of_bank(bank_id: str) -> Query[Collection]:
    """Read the collection of a bank."""
    return _collection("bank_id", bank_id)


def of_conversation(conversation_id: int) -> Query[Collection]:
    """Read the collection of a private conversation; none before its first text was indexed."""
    return _collection("conversation_id", conversation_id)


def of_zone(zone_id: str) -> Query[Collection]:
    """Read the collection of a zone; none before its first text was indexed."""
    return _collection("zone_id", zone_id)


def _collection(column: str, of: str | int) -> Query[Collection]:
    return Query(
        f"SELECT number, version, reached, texts, words FROM collections WHERE {column} = ?",
        (of,),
        lambda row: Collection(*row),
    )


def begin_for_bank(number: int, bank_id: str, version: str) -> Write:
    """Add the collection of a new bank; refused as `FOREIGN_KEY` without the bank."""
    return _begin("bank_id", number, bank_id, version, DONE)


def begin_for_conversation(number: int, conversation_id: int, version: str) -> Write:
    """Add the collection of a private conversation, with `reached` 0; refused as `FOREIGN_KEY` when that is gone.

    Nothing changes if it has one already: then `advance` for this number is refused.
    """
    return _begin("conversation_id", number, conversation_id, version, 0)


def begin_for_zone(number: int, zone_id: str, version: str) -> Write:
    """Add the collection of a zone; as `begin_for_conversation`."""
    return _begin("zone_id", number, zone_id, version, 0)


def _begin(column: str, number: int, of: str | int, version: str, reached: int) -> Write:
    return Write(
        f"INSERT INTO collections (number, {column}, version, reached) VALUES (?, ?, ?, ?)"
        f" ON CONFLICT ({column}) DO NOTHING",
        (number, of, version, reached),
    )


def begin_anew(number: int, version: str, reached: int, new_version: str) -> Write:
    """Have all texts of a collection indexed anew; refused as `ROWS` if it is not as read any more.

    Its rows stay until `add` replaces them.
    """
    return Write(
        "UPDATE collections SET version = ?, reached = 0 WHERE number = ? AND version = ? AND reached = ?",
        (new_version, number, version, reached),
        rows=1,
    )


def advance(collection: int, reached: int, to: int) -> Write:
    """Move `reached`; refused as `ROWS` if another moved it meanwhile, or if the collection is gone."""
    return Write(
        "UPDATE collections SET reached = ? WHERE number = ? AND reached = ?", (to, collection, reached), rows=1
    )


# texts


# each text is taken apart once, and not for each of its terms
_TEXTS = (
    "WITH texts AS MATERIALIZED (SELECT *"
    " FROM @rows(?, document bigint, length bigint, whole text, part bigint, terms json) AS given)"
)


def add(collection: int, texts: Sequence[IndexedText]) -> tuple[Write, ...]:
    """Index texts of a collection, replacing earlier rows of theirs; a text without terms has no row.

    Refused as `FOREIGN_KEY` when the collection is gone.
    """
    rows: list[tuple[int, int, str, int, dict[str, int]]] = []
    for document, whole, part, terms in texts:
        length, times = terms if isinstance(terms, CountedTerms) else counted(terms)
        if length:
            rows.append((document, length, whole, part, times))
    earlier = Write(
        "DELETE FROM indexed_texts WHERE collection = ? AND document IN @list_int(?)",
        (collection, _json([text.document for text in texts])),
    )
    if not rows:
        return (earlier,)
    given = _json(rows)  # one text for all statements, because this runs on the event loop
    return (
        earlier,
        Write(
            f"INSERT INTO vocabulary (collection, term, documents) {_TEXTS}"
            " SELECT ?, key, count(*) FROM texts CROSS JOIN @members_int(texts.terms) AS terms WHERE true GROUP BY key"
            " ON CONFLICT (collection, term) DO UPDATE SET documents = vocabulary.documents + excluded.documents",
            (given, collection),
        ),
        Write(
            f"INSERT INTO postings (term, document, times, length) {_TEXTS}"
            " SELECT number, texts.document, terms.value, texts.length FROM texts"
            " CROSS JOIN @members_int(texts.terms) AS terms @seek(vocabulary, collection = ? AND term = terms.key)",
            (given, collection),
        ),
        Write(
            f"INSERT INTO indexed_texts (collection, document, length, whole, part, terms) {_TEXTS}"
            " SELECT ?, document, length, whole, part,"
            " (SELECT @json_array(number) FROM @members_int(texts.terms) AS terms"
            " @seek(vocabulary, collection = ? AND term = terms.key)) FROM texts",
            (given, collection, collection),
        ),
        Write(
            "UPDATE collections SET texts = texts + ?, words = words + ? WHERE number = ?",
            (len(rows), sum(length for _, length, *_ in rows), collection),
        ),
    )


def remove(collection: int, document: int) -> Write:
    """Take a text out of the index; nothing happens if it is not there."""
    return Write("DELETE FROM indexed_texts WHERE collection = ? AND document = ?", (collection, document))


def _json(rows: Sequence[object]) -> str:
    return orjson.dumps(rows).decode()


def documents_between(collection: int, after: int, before: int, limit: int) -> Query[int]:
    """List the first texts of a collection between two documents, in order."""
    return Query(
        "SELECT document FROM indexed_texts WHERE collection = ? AND document > ? AND document < ?"
        " ORDER BY document LIMIT ?",
        (collection, after, before, limit),
        lambda row: row[0],
    )


# searches


def frequencies(collection: int, terms: Sequence[str]) -> Query[Frequency]:
    """Look up these distinct terms, without those that no text has."""
    return Query(
        "SELECT term, number, documents FROM @list_text(?) AS given"
        " @seek(vocabulary, collection = ? AND term = given.value)",
        (_json(terms), collection),
        lambda row: Frequency(*row),
    )


def relatives(collection: int, beginnings: Sequence[str], limit: int) -> Query[tuple[str, Frequency]]:
    """List up to `limit` terms that begin with each of these: the beginning and the term's frequency."""
    return Query(
        "SELECT given.value, term, number, documents FROM @list_text(?) AS given"
        " @seek(vocabulary, collection = ? AND term >= given.value AND term < given.value || ?) LIMIT ?",
        (_json(beginnings), collection, _AFTER_ALL, limit),
        lambda row: (row[0], Frequency(*row[1:])),
    )


def having(collection: int, terms: Sequence[str], documents: Sequence[int]) -> Query[tuple[str, int]]:
    """List which of these texts have which of these terms: term and document."""
    return Query(
        "SELECT vocabulary.term, postings.document FROM @list_text(?) AS given"
        " @seek(vocabulary, collection = ? AND vocabulary.term = given.value) CROSS JOIN @list_int(?) AS documents"
        " @seek(postings, postings.term = vocabulary.number AND postings.document = documents.value)",
        (_json(terms), collection, _json(documents)),
        lambda row: (row[0], row[1]),
    )


class Match(NamedTuple):
    """A term of a text that was found: how often the text has it, and how many terms the text has in all.

    A `term` of 0 only names a text: one that was found itself, or one beside it in the same whole.
    """

    document: int
    whole: str
    part: int
    term: int
    times: int
    length: int


_match: Callable[[Params], Match] = partial(tuple.__new__, Match)  # pyright: ignore[reportUnknownMemberType]
"""Makes one of a row; unlike `_make`, it runs no Python, because rows are many."""


@cache
def _matches(leading: int, narrowed: bool) -> str:
    """Return the statement that finds texts by `leading` terms; each has its own parameters, which costs least."""
    by_length = "times + @typed(:fixed, real) + @typed(:by_length, real) * length"
    gains = [
        f"SELECT document, @typed(:weight{place}, real) * times / ({by_length}) AS gain FROM postings"
        f" WHERE term = :term{place}"
        for place in range(leading)
    ]
    if narrowed:
        gains = [
            f"SELECT * FROM ({gain} ORDER BY document DESC LIMIT :count{n}) AS newest" for n, gain in enumerate(gains)
        ]
    # the last bits of a sum depend on its order, which is not the same in all texts, nor in both databases
    rank = f"CAST({'sum(gain)' if leading > 1 else 'gain'} * 1e9 AS BIGINT)"
    return f"""
    WITH found (document, place) AS MATERIALIZED (
        SELECT document, row_number() OVER (ORDER BY score DESC, document DESC) FROM (
            SELECT document, {rank} AS score
            FROM ({" UNION ALL ".join(gains)}) AS gains {"GROUP BY document" if leading > 1 else ""}
            ORDER BY score DESC, document DESC LIMIT :limit
        ) AS best
    ), texts (document, whole, part) AS MATERIALIZED (
        SELECT found.document, whole, part FROM found
        @seek(indexed_texts, indexed_texts.collection = :collection AND indexed_texts.document = found.document)
        WHERE part > 0 OR place <= @typed(:alone, bigint)
    )
    SELECT texts.document, whole, part, term, times, length
    FROM @list_int(:terms) AS terms CROSS JOIN texts
    @seek(postings, postings.term = terms.value AND postings.document = texts.document)
    UNION ALL
    SELECT beside.document, beside.whole, beside.part, 0, 0, 0
    FROM texts @hint(CROSS) JOIN indexed_texts AS beside
        ON beside.collection = :collection AND beside.whole = texts.whole
        AND beside.part BETWEEN texts.part - @typed(:before, bigint) AND texts.part + @typed(:after, bigint)
        AND beside.part > 0
    WHERE texts.part > 0
    """


def matches(
    collection: int,
    leading: Sequence[tuple[int, float]],
    terms: Sequence[int],
    average: float,
    k1: float,
    b: float,
    limit: int,
    before: int = 0,
    after: int = 0,
    newest: Sequence[int] | None = None,
    alone: int | None = None,
) -> Query[Match]:
    """Find the texts that match the leading terms best by BM25; among equals, the higher document comes first.

    A text scores, for each of these terms, weight * times / (times + k1 * (1 - b + b * length / average)).

    Args:
        collection: its number.
        leading: the numbers of the terms that find texts, with their weights; at least one.
        terms: the numbers of the terms that are looked up in the texts found.
        average: the average length of a text, in terms.
        k1: how much the repetitions of a term count.
        b: how much a text's length counts.
        limit: the number of texts to find.
        before: the number of parts before a part that are listed, too.
        after: the number of those after it.
        newest: for each leading term, the number of its texts that are looked at, the newest ones; all if absent.
        alone: the number of best texts of which those that are no parts count, too; all if absent.
    """
    params: dict[str, Any] = {"collection": collection, "terms": _json(terms), "limit": limit}
    params["alone"] = limit if alone is None else alone
    params |= {"before": before, "after": after}
    params |= {"fixed": k1 * (1 - b), "by_length": k1 * b / average}  # computed once, and not for each posting
    for place, (term, weight) in enumerate(leading):
        params[f"term{place}"], params[f"weight{place}"] = term, weight
    if newest is not None:
        params |= {f"count{place}": count for place, count in enumerate(newest)}
    return Query(_matches(len(leading), newest is not None), params, _match)
