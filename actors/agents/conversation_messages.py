"""The messages about an agent's conversations, chats in them left out."""

from actors.conversations.place import Binding
from actors.runtime.mailbox import Ask
from persistence.conversations import ConversationRow


class FindBound(Ask[Binding], frozen=True):
    """Return what is known of a client's own id of a conversation."""

    viewer_id: str
    client_id: str


class BeginConversation(Ask[ConversationRow], frozen=True):
    """Begin another conversation of a user with the agent, which is not the default.

    `access_granted`: the store found that the agent's access opens it to this user.
    """

    viewer_id: str
    title: str | None = None
    access_granted: bool = False


class SetTitle(Ask[ConversationRow], frozen=True):
    """Set the title of a conversation, which its user has read just now."""

    conversation: ConversationRow
    title: str


class ShowCopy(Ask[ConversationRow], frozen=True):
    """Begin a conversation with the copy of another one, which is stored but which nobody sees yet."""

    copy: ConversationRow


class EraseConversation(Ask[None], frozen=True):
    """Erase a conversation for good, with its messages and all that was made of them."""

    conversation: ConversationRow
