"""The texts of an index in memory: their terms, and which of them have a term."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from actors.slices import let_go

MAX_TERMS_PER_TEXT = 1_024
"""The number of distinct terms of a text that are indexed, the first ones; bounds the memory of hostile texts."""

_MANY = 64  # texts that have a term


class _Text(Struct, frozen=True, gc=False):
    """The distinct terms of a text, its length in terms, and how often it has those that it repeats."""

    terms: tuple[str, ...]
    length: int
    often: dict[str, int] | None


class Postings:
    """Texts by number (>= 0), with their terms.

    A tuple of numbers per term takes half the memory of a dict per term. A term of many texts has a list, because the
    next number would cost a copy of the tuple.
    """

    __slots__ = ("_holding", "_in_order", "_parts", "_places", "_postings", "_stating", "_texts", "_words")

    def __init__(self) -> None:
        self._postings: dict[str, tuple[int, ...] | list[int]] = {}
        self._texts: dict[int, _Text] = {}
        self._places: dict[int, tuple[str, int]] = {}
        self._parts: dict[tuple[str, int], int] = {}
        self._stating = 0  # texts with terms; the others count for nothing, as in the store
        self._words = 0
        self._in_order: list[str] | None = None  # the terms, once a search needed them
        self._holding: dict[str, set[int]] = {}  # texts by kind of answer, of those that were asked for

    def __del__(self) -> None:
        let_go(self._texts, self._places, self._parts, self._postings)

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, number: int) -> bool:
        return number in self._texts

    def terms(self, number: int) -> tuple[str, ...]:
        """Return the distinct terms of a text."""
        return self._texts[number].terms

    def having(self, term: str) -> Sequence[int]:
        """Return the texts that have a term, in ascending order."""
        return self._postings.get(term, ())

    def add(self, number: int, terms: Sequence[str], whole: str = "", part: int = 0) -> None:
        """Index a text under a number that is not in use; for `whole` and `part` see `Matched`."""
        if number in self._texts:
            raise ValueError(f"text {number} is indexed already")
        distinct = tuple(dict.fromkeys(terms))[:MAX_TERMS_PER_TEXT]
        often: dict[str, int] | None = None
        if len(distinct) < len(terms):
            often = {term: times for term, times in Counter(terms).items() if times > 1}
        self._texts[number] = _Text(distinct, len(terms), often)
        self._words += len(terms)
        self._stating += bool(terms)
        self._changed()
        if part:
            place = self._places[number] = whole, part
            self._parts[place] = number
        postings, holding = self._postings, self._holding
        posting = (number,)
        for term in distinct:
            known = postings.get(term)
            if known is None:
                postings[term] = posting
                if self._in_order:
                    insort(self._in_order, term)
            elif isinstance(known, list):
                known.append(number)
            else:
                postings[term] = known + posting if len(known) < _MANY else [*known, number]
            if term in holding:
                holding[term].add(number)

    def add_all(self, others: "Postings") -> None:
        """Index the texts of another index, whose numbers are all higher; that one is not used any more.

        This costs far less than to index each, and no more for a larger index.
        """
        self._texts |= others._texts
        self._places |= others._places
        self._parts |= others._parts
        self._words += others._words
        self._stating += others._stating
        self._changed()
        self._holding = {}
        self._in_order = None
        for term, numbers in others._postings.items():
            known = self._postings.get(term)
            if isinstance(known, list):
                known += numbers
            else:
                self._postings[term] = numbers if known is None else [*known, *numbers]

    def remove(self, number: int) -> None:
        """Remove a text; raises KeyError if there is none of that number."""
        postings = self._postings
        text = self._texts.pop(number)
        self._words -= text.length
        self._stating -= bool(text.terms)
        self._changed()
        place = self._places.pop(number, None)
        if place is not None and self._parts.get(place) == number:
            del self._parts[place]
        for term in text.terms:
            known = postings[term]
            if term in self._holding:
                self._holding[term].discard(number)
            if len(known) == 1:
                del postings[term]
                if self._in_order:
                    del self._in_order[bisect_left(self._in_order, term)]
            elif isinstance(known, list):
                known.remove(number)
            elif known[0] == number:  # the usual case: the oldest text goes first
                postings[term] = known[1:]
            else:
                position = known.index(number)
                postings[term] = known[:position] + known[position + 1 :]

    def _changed(self) -> None:
        """Drop what holds only as long as nothing changes."""

    def _held(self, kinds: Iterable[str]) -> Mapping[str, set[int]]:
        """Return the texts with these terms that raise, by term, and some with others; each is looked up once."""
        for kind in kinds:
            if kind in self._postings and kind not in self._holding:
                self._holding[kind] = set(self._postings[kind])
        return self._holding
