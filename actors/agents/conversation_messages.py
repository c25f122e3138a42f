"""The messages about an agent's conversations, chats in them left out."""

from dataclasses import dataclass

from actors.conversations.place import Binding
from actors.runtime.mailbox import Ask
from persistence.conversations import ConversationRow


@dataclass(frozen=True, slots=True)
class FindBound(Ask[Binding]):
    """Return what is known of a client's own id of a conversation."""

    viewer_id: str
    client_id: str


@dataclass(frozen=True, slots=True)
class BeginConversation(Ask[ConversationRow]):
    """Begin another conversation of a user with the agent, which is not the default.

    `access_granted`: the store found that the agent's access opens it to this user.
    """

    viewer_id: str
    title: str | None = None
    access_granted: bool = False


@dataclass(frozen=True, slots=True)
class SetTitle(Ask[ConversationRow]):
    """Set the title of a conversation, which its user has read just now."""

    conversation: ConversationRow
    title: str


@dataclass(frozen=True, slots=True)
class ShowCopy(Ask[ConversationRow]):
    """Begin a conversation with the copy of another one, which is stored but which nobody sees yet."""

    copy: ConversationRow


@dataclass(frozen=True, slots=True)
class EraseConversation(Ask[None]):
    """Erase a conversation for good, with its messages and all that was made of them."""

    conversation: ConversationRow
