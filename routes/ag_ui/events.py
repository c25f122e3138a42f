"""The events of a run of AG-UI, as server-sent events."""

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
)

from actors.commands.runs import Run, RunPiece
from actors.commands.talk import Talked
from actors.conversations.conversation import RunBegun
from actors.conversations.ids import reply_of
from actors.errors import MessageKept, ServiceError
from actors.wire import json_event
from routes.ag_ui.run_request import RunRequest
from routes.ag_ui.threads import GO_ON
from routes.doors.answer_stream import AnswerStream


class RunEvents:
    """Writes the events of one run, from RUN_STARTED to RUN_FINISHED; the frame writes RUN_ERROR."""

    def __init__(self, stream: AnswerStream, asked: RunRequest) -> None:
        self._stream = stream
        self._asked = asked
        self._reply_id = ""
        self._has_started = False
        self._speaks = False

    def begun(self, begun: RunBegun) -> None:
        """Tell that the user's message is stored; while it waits for its turn, only open the stream."""
        if begun.waits:
            self._open(begun.run, begun.conversation)
        else:
            self._begin(begun.run, begun.conversation, reply_of(begun.message.id))

    def piece(self, text: str) -> None:
        """Pass a piece of the reply on."""
        if not text:
            return
        if not self._speaks:
            self._speaks = True
            self._send(TextMessageStartEvent(message_id=self._reply_id, role="assistant"))
        self._send(TextMessageContentEvent(message_id=self._reply_id, delta=text))

    def end(self, talked: Talked) -> None:
        """Tell the end; a run that was joined is told whole."""
        reply = talked.reply
        if not self._has_started:
            self._begin(talked.run, talked.conversation, reply.id)
        if not self._speaks:
            self.piece(reply.content)
        sources = {"sources": [source.record() for source in reply.sources]} if reply.sources else None
        if self._speaks:
            self._send(TextMessageEndEvent(message_id=self._reply_id, metadata=sources))
        usage = talked.outcome and talked.outcome.usage
        self._finish(
            RunFinishedCancelledOutcome() if reply.mark == "cancelled" else RunFinishedSuccessOutcome(),
            usage and [TokenUsage(input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens)],
        )

    def cancelled(self) -> None:
        """Tell the end of a run that was cancelled before the agent said anything, which is no failure."""
        if not self._has_started:
            self._start()
        self._finish(RunFinishedCancelledOutcome())

    def _finish(self, outcome: RunFinishedOutcome, usage: list[TokenUsage] | None = None) -> None:
        asked = self._asked
        self._send(RunFinishedEvent(thread_id=asked.thread_id, run_id=asked.run_id, outcome=outcome, usage=usage))

    def follow(self, piece: RunPiece | Run) -> None:
        """Pass a piece of a joined run on, or tell its end."""
        if isinstance(piece, RunPiece):
            self.piece(piece.text)
        elif piece.reply is not None:
            self.end(Talked(piece.message, piece.reply, piece.conversation))
        elif piece.error is None or piece.state == "cancelled":
            self.cancelled()
        else:
            error = piece.error
            note = MessageKept.note_with(error.note, GO_ON)
            self._send(RunErrorEvent(message=note, code=str(error.internal_code)))

    def _begin(self, run: str, conversation: str | None, reply_id: str) -> None:
        self._reply_id = reply_id
        if not self._stream.begun:
            self._open(run, conversation)
        self._start()

    def _open(self, run: str, conversation: str | None) -> None:
        headers = {"X-Run-Id": run}
        if conversation is not None:
            headers["X-Conversation-Id"] = conversation
        self._stream.begin(headers)

    def _start(self) -> None:
        self._has_started, asked = True, self._asked
        self._send(
            RunStartedEvent(
                thread_id=asked.thread_id,
                run_id=asked.run_id,
                protocol_version=PROTOCOL_VERSION,
                parent_run_id=asked.parent_run_id,
            )
        )

    def _send(self, event: BaseEvent) -> None:
        self._stream.send(_written(event))


def run_error(error: ServiceError) -> bytes:
    """Write RUN_ERROR."""
    return _written(RunErrorEvent(message=error.note, code=str(error.internal_code)))


def _written(event: BaseEvent) -> bytes:
    return json_event(event.model_dump_json(by_alias=True).encode())
