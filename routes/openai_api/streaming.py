"""Streamed answers, in the chunks or events of an API."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from actors.calls.call import Call
from actors.commands.runs import RunPiece, follow_run, keyed_run
from actors.commands.talk import Saying
from actors.conversations.conversation import RunBegun
from actors.errors import EngineFailed, MessageKept, ServiceError
from routes.doors.answer_stream import AnswerStream
from routes.openai_api.answers import Answered, Heading, unique_part
from routes.openai_api.errors import GO_ON
from routes.openai_api.saying import headers_of


class Writer(Protocol):
    """Writes the pieces of one streamed answer."""

    def first(self) -> bytes:
        """Write what comes before the first text."""
        ...

    def text(self, piece: str) -> bytes:
        """Write a piece of the text."""
        ...

    def last(self, answered: Answered) -> bytes:
        """Write what follows the text."""
        ...

    def failed(self, error: ServiceError) -> bytes:
        """Write the end of an answer that failed."""
        ...


class StreamedAnswer:
    """Passes an answer on as it comes: its beginning, the pieces of its text, its end.

    Args:
        stream: takes the bytes.
        model: the model's id, as the client wrote it.
        writing: makes the writer of an answer of which only the beginning is known.
    """

    def __init__(self, stream: AnswerStream, model: str, writing: Callable[[Heading], Writer]) -> None:
        self._stream = stream
        self._model = model
        self._writing = writing
        self._writer: Writer | None = None
        self._sent = 0
        self._replayed = False

    async def open(self, call: Call, saying: Saying) -> None:
        """Take what the call says; of a repeat whose first try is under way first the rest of that.

        Raises:
            EngineFailed: the first try failed after pieces were passed on.
        """
        key = saying.key
        run = None if key is None or key.latest else await keyed_run(call, key, saying.key_ms)
        if run is None or run.state != "working":
            self._replayed = run is not None and run.reply is not None
            call.stream_to(self.text, self.begun)
            return
        self.begun(RunBegun(run.id, run.message, run.conversation))
        async for heard in follow_run(call, run.id):
            if isinstance(heard, RunPiece):
                self.text(heard.text)
            elif heard.state == "failed" and heard.error is not None and self._sent:
                raise EngineFailed(MessageKept.note_with(heard.error.note, GO_ON))

    def begun(self, run: RunBegun) -> None:
        """Begin the answer once the user's message is stored; while it waits for its turn, only the stream."""
        heading = Heading(unique_part(run.message.id), self._model, run.message.at, run.conversation)
        if run.waits:
            self._open(heading, partial(self._failed_before, heading))
        else:
            self._begin(heading)

    def text(self, piece: str) -> None:
        """Pass a piece of the text on."""
        if self._writer is not None and piece:
            self._sent += len(piece)
            self._stream.send(self._writer.text(piece))

    def end(self, answered: Answered) -> None:
        """Pass on the rest of the text, if there is any, and the end."""
        writer = self._writer or self._begin(answered.heading)
        self.text(answered.text[self._sent :])
        self._stream.send(writer.last(answered))

    def _begin(self, heading: Heading) -> Writer:
        writer = self._writer = self._writing(heading)
        self._open(heading, writer.failed)
        self._stream.send(writer.first())
        return writer

    def _failed_before(self, heading: Heading, error: ServiceError) -> bytes:
        """Write an answer that failed before it began."""
        writer = self._writing(heading)
        return writer.first() + writer.failed(error)

    def _open(self, heading: Heading, failure: Callable[[ServiceError], bytes]) -> None:
        """Send the head, unless it was sent when the message began to wait; `failure` writes an error at the end."""
        if self._stream.begun:
            self._stream.failure = failure
        else:
            self._stream.begin(headers_of(heading, self._replayed), failure=failure)
