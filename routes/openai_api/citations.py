"""The sources of a reply as `url_citation` annotations."""

from collections.abc import Sequence
from typing import Any

from actors.engines.message import Source
from routes.uris import uri

_TYPE = "url_citation"


def citations(text: str, sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Return the annotations of a reply, as responses write them.

    `start_index` and `end_index` are positions in characters of the text: where the source's quote stands, else the
    whole text.
    """
    return [{"type": _TYPE, **_citation(text, source)} for source in sources]


def nested_citations(text: str, sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Return the same annotations as chat completions write them."""
    return [{"type": _TYPE, _TYPE: _citation(text, source)} for source in sources]


def _citation(text: str, source: Source) -> dict[str, Any]:
    start = text.find(source.quote) if source.quote else -1
    end = start + len(source.quote)
    if start < 0:
        start, end = 0, len(text)
    return {
        "url": _url(source),
        "title": source.id if source.kind == "bank" else source.of,
        "start_index": start,
        "end_index": end,
    }


def _url(source: Source) -> str:
    return uri("bank", source.of, source.id) if source.kind == "bank" else uri(source.kind, source.id)
