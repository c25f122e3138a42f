"""What stands in for an engine that the settings name and this version does not have."""

from actors.engines.engine import Reply, Turn
from actors.errors import EngineFailed


class AbsentEngine:
    """Fails every chat, saying so: a gateway never answers with another engine than the one it was set to."""

    def __init__(self, name: str) -> None:
        self.name = name

    def reply(self, turn: Turn) -> Reply:
        """Fail.

        Raises:
            EngineFailed: always.
        """
        raise EngineFailed(
            f"The chat engine {self.name} is not available in this version; set PARLEY_CHAT_ENGINE=recall."
        )
