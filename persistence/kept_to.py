"""Lists that are kept to some entities, because the sender's API key may see no others."""

from collections.abc import Sequence

Ids = Sequence[str] | None
"""The ids of the entities; None for all."""


def kept_to(column: str, ids: Ids, parameter: str = ":ids") -> str:
    """Return the condition that keeps a list to some ids, which the parameter has as JSON; empty for all.

    So each page of such a list is full.
    """
    return "" if ids is None else f" AND {column} IN @list_text({parameter})"
