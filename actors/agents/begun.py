"""Tells a streaming client that its message is stored, before the first piece of the reply."""

from __future__ import annotations

from collections.abc import Callable

from actors.conversations.conversation import Chat, RunBegun
from actors.runtime.future import AsyncFuture


def telling_begun(chat: Chat, begun: Callable[[RunBegun], None], saved: AsyncFuture[None], what: RunBegun) -> Chat:
    """Return the chat with a channel that holds pieces back until its message is `saved` and `begun` was told."""
    early: list[str] | None = []
    pass_on = chat.progress

    def progress(piece: str) -> None:
        if early is not None:
            early.append(piece)
        elif pass_on is not None:
            pass_on(piece)

    def settled(done: AsyncFuture[None]) -> None:
        nonlocal early
        pieces, early = early or [], None
        if done.error is None:
            begun(what)
            for piece in pieces:
                progress(piece)

    saved.then(settled)
    return chat._replace(progress=progress)
