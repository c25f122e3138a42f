"""Conversations with the engine `recall`, without an agent's actor."""

from actors.engines.message import A_PRIVATE_TURN, Utterance
from actors.engines.recall import RecallEngine
from actors.engines.turn import InstantEngine, Memory, Persona, Reply, Turn
from actors.engines.window import Window
from actors.slices import whole

BLANK = Persona("agt_2", "scout", "", "")


def user(content: str, seq: int = 0, name: str = "ada") -> Utterance:
    return Utterance(f"msg_{seq}", "user", name, content, seq, seq)


def agent(reply: Reply, seq: int = 0, name: str = "scout") -> Utterance:
    return Utterance(f"msg_{seq}", "agent", name, reply.text, seq, seq, reply.sources)


class Conversation:
    """A user in conversation with the engine, in place of an agent's actor."""

    def __init__(self, persona: Persona = BLANK, memories: tuple[Memory, ...] = ()) -> None:
        self.engine: InstantEngine = RecallEngine()
        self.persona = persona
        self.memories = memories
        self.window = Window(a_turn=A_PRIVATE_TURN)
        self.seq = 0

    def say(self, message: str, name: str = "ada") -> Reply:
        reply = whole(self.engine.replying(Turn(self.persona, "scout", self.memories, self.window, message, name)))
        assert isinstance(reply, Reply)
        self.append(user(message, self.next(), name))
        self.append(agent(reply, self.next()))
        return reply

    def next(self) -> int:
        self.seq += 1
        return self.seq

    def append(self, utterance: Utterance) -> None:
        self.window.append(utterance)


def after(*messages: str) -> Conversation:
    conversation = Conversation()
    for message in messages:
        conversation.say(message)
    return conversation


def quotes(reply: Reply) -> list[str]:
    return [source.quote for source in reply.sources]
