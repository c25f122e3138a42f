"""Types of rank_bm25, which has none: only what the bench calls."""

from collections.abc import Iterable, Sequence

class BM25Okapi:
    def __init__(self, corpus: Sequence[Sequence[str]]) -> None: ...
    def get_scores(self, query: Sequence[str]) -> Iterable[float]: ...
