"""The place of a chat: the conversation that it continues, or how a new one begins."""

from typing import Literal, NamedTuple

from msgspec import Struct


class Earlier(NamedTuple):
    """A message of a client's own history."""

    role: Literal["user", "agent"]
    text: str


class Beginning(Struct, frozen=True):
    """How a new conversation begins: with messages of a client's history, the first `cut` of which are left out.

    `opening` is a digest of the history's beginning, and `scope` of the end user; see `conversations.begin_other`.
    `names` are digests of the client's own ids of those messages, empty for one without; or there are none.
    `quoted` are the memories, by position, that those messages quote, each with the place of its message in `earlier`.
    """

    earlier: tuple[Earlier, ...] = ()
    opening: str | None = None
    cut: int = 0
    scope: str = ""
    names: tuple[str, ...] = ()
    quoted: tuple[tuple[int, int], ...] = ()


class Binding(NamedTuple):
    """The number of the conversation in memory that a client's own id is bound to; None if only the store can tell.

    The actor remembers what the store tells if it gets `asked` back with it, and no id was bound or freed meanwhile.
    """

    number: int | None = None
    asked: int | None = None


class ChatPlace(Struct, frozen=True):
    """The conversation of a chat, by its number.

    Args:
        number: that of a stored conversation, or a new one if `begins` is set.
        is_default: whether it is the user's default conversation with the agent.
        begins: how it begins, if it is new.
        last_seq: the seq of its last message, if the chat may only follow that one.
        binds: the client's own id, which is bound to it with this chat.
        bound_to: the client's own id by which it was found in the store, and `Binding.asked` from before.
        kept: whether its messages are stored; False for an answer without a conversation.
        copy_of: the number of the conversation that it is a complete copy of; nobody sees it before this chat's
            message is stored.
    """

    number: int
    is_default: bool = False
    begins: Beginning | None = None
    last_seq: int | None = None
    binds: str | None = None
    kept: bool = True
    copy_of: int | None = None
    bound_to: tuple[str, int] | None = None


class RunKey(Struct, frozen=True):
    """The key by which a client may ask for the run of a chat again.

    Args:
        digest: of the key, with whoever may use it.
        fingerprint: of the request; another one under the same key is refused.
        latest: whether this is a first try, which runs even if the key has a run; it is the key's run from now on.
        names: digests of the client's own ids of the message, by which it is found as long as it is stored.
        shown: the client's own id of the message, if the client is shown that again.
    """

    digest: str
    fingerprint: str
    latest: bool = False
    names: tuple[str, ...] = ()
    shown: str = ""
