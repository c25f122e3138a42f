"""SendMessage and SendStreamingMessage: a message begins a run, which is the task (A2A 1.0, 3.1.1 and 3.1.2)."""

import asyncio
from typing import Any

from msgspec import structs

from actors.agents.messages import NoSuchConversation
from actors.commands import push_configs
from actors.commands.talk import OtherRequest, Saying, Talked, key_digest, talk
from actors.commands.tasks import (
    CONVERSATION_PREFIX,
    TaskView,
    known_run,
    numbered_context,
)
from actors.conversations.conversation import RunBegun
from actors.conversations.ids import number_of
from actors.conversations.place import RunKey
from actors.errors import NotFound, ServiceError
from actors.slices import sliced
from actors.webhooks.push import PushTarget
from routes.a2a import tasks
from routes.a2a.errors import InvalidParams, TaskNotFound, UnsupportedOperation
from routes.a2a.following import follow
from routes.a2a.operation_request import STREAMED, OperationRequest
from routes.a2a.requests import MessageSent, message_sent


async def send_message(asked: OperationRequest) -> dict[str, Any]:
    """Begin a task and return it: once it has ended, or at once if the client wants that."""
    sent = await _accepted(asked)
    sending = Sending(asked, sent)
    if sent.return_immediately:
        known = await sending.repeated()
        if known is not None:
            return {"task": tasks.task(known, sent.history_length)}
    return {"task": tasks.task(await sending.run(), sent.history_length)}


async def send_streaming_message(asked: OperationRequest) -> object:
    """Begin a task and stream it until it has ended."""
    sent = await _accepted(asked)
    sending = Sending(asked, sent, streams=True)
    known = await sending.repeated()
    if known is not None:
        await follow(asked, known, sent.history_length)
    else:
        await sending.run()
    return STREAMED


async def _accepted(asked: OperationRequest) -> MessageSent:
    """Read the request, and check what it names.

    Raises:
        InvalidParams, ContentTypeNotSupported: it can't be carried out.
        TaskNotFound: it names a task that the caller doesn't have.
        UnsupportedOperation: it names one of the caller's tasks, none of which takes another message.
    """
    sent = await sliced(message_sent(asked.params))
    if sent.task_id is not None:
        task = await asked.task(sent.task_id)
        if sent.context_id is not None and not await _is_context(asked, sent.context_id, task):
            raise InvalidParams("message.contextId", "is not that of message.taskId")
        said = "has ended" if task.ended else "is under way"
        raise UnsupportedOperation(
            f"The task {said} and takes no further message; send it with contextId {task.context} and no taskId."
        )
    if sent.push is not None:
        await push_configs.require_allowed(asked.call, sent.push.url)
    return sent


async def _is_context(asked: OperationRequest, context: str, task: TaskView) -> bool:
    if context == task.context:
        return True
    named = await numbered_context(asked.call, asked.agent.id, context)
    return named is not None and named == await numbered_context(asked.call, asked.agent.id, task.context)


class Sending:
    """One message on its way to the agent."""

    def __init__(self, asked: OperationRequest, sent: MessageSent, *, streams: bool = False) -> None:
        self._asked = asked
        self._sent = sent
        self._streams = streams
        loop = asyncio.get_running_loop()
        self._run: RunBegun | None = None
        self._begun: asyncio.Future[None] = loop.create_future()  # the message is stored, or waits for its turn
        self._is_stored: asyncio.Future[None] = loop.create_future()
        self._pieces = 0
        self._key = RunKey(
            key_digest(asked.call.user.user_id, "a2a", asked.agent.id, sent.message_id),
            sent.fingerprint,
            shown=sent.message_id,
        )

    async def repeated(self) -> TaskView | None:
        """Return the task of an earlier message with this id, if it is under way.

        Raises:
            InvalidParams: that message was another one.
        """
        known = await known_run(self._asked.call, self._key)
        if known is None:
            return None
        if not known.same_request:
            raise _other_request()
        try:
            task = await self._asked.task(known.run)
        except NotFound:
            return None
        return None if task.ended else task

    async def run(self) -> TaskView:
        """Send the message, and return its task.

        Raises:
            ServiceError: no run has begun.
        """
        call, work = self._asked.call, self._asked.request.work
        returns = self._sent.return_immediately and not self._streams
        alone = structs.replace(call, receipt=None) if returns else call  # its audit row is written when this returns
        alone.stream_to(self._progress, self._begin)
        talking = work.begin(talk(alone, self._asked.agent.id, self._saying()))
        try:
            await asyncio.wait({talking, self._begun}, return_when=asyncio.FIRST_COMPLETED)
            if returns and self._begun.done() and not (self._is_stored.done() or talking.done()):
                if self._sent.push is not None:
                    work.abandon(work.begin(self._keep_push_once_stored(talking)))
                work.abandon(talking)
                return self._begun_view
            await asyncio.wait({talking, self._is_stored}, return_when=asyncio.FIRST_COMPLETED)
            if self._is_stored.done():
                await self._keep_push(self._begun_view)
                if returns and not talking.done():
                    work.abandon(talking)
                    return self._begun_view
            return await self._ended(await talking)
        except OtherRequest:
            raise _other_request() from None
        except ServiceError as error:
            return await self._failed(error)
        finally:
            if not talking.done():
                work.abandon(talking)

    def _saying(self) -> Saying:
        context = self._sent.context_id
        is_ours = context is not None and context.startswith(CONVERSATION_PREFIX)
        return Saying(
            self._sent.text,
            conversation=context if is_ours else None,
            client_id=None if is_ours else context,
            key=self._key,
        )

    def _begin(self, begun: RunBegun) -> None:
        self._run = begun
        if not (begun.waits or self._is_stored.done()):
            self._is_stored.set_result(None)
        if self._begun.done():
            return
        self._begun.set_result(None)
        if self._streams:
            self._asked.send({"task": tasks.task(self._begun_view, self._sent.history_length)})

    def _progress(self, piece: str) -> None:
        if self._streams and piece:
            self._asked.send(tasks.artifact_update(self._begun_view, piece, append=self._pieces > 0, last=False))
            self._pieces += 1

    @property
    def _begun_view(self) -> TaskView:
        """The task at its beginning."""
        begun = self._run
        assert begun is not None
        conversation = begun.conversation or ""
        context = self._sent.context_id or conversation
        return TaskView(
            begun.run, number_of(conversation) or 0, context, "working", begun.message, message_id=self._sent.message_id
        )

    async def _ended(self, talked: Talked) -> TaskView:
        state = "cancelled" if talked.reply.mark == "cancelled" else "completed"
        if self._is_stored.done():
            return self._told(self._begun_view._replace(state=state, reply=talked.reply))
        view = await self._asked.task(talked.run)  # a repeat, which has waited for the first one
        await self._keep_push(view)
        return self._told(view)

    async def _failed(self, error: ServiceError) -> TaskView:
        """Return the task of a run that has begun and failed.

        Raises:
            TaskNotFound: its conversation was erased.
            ServiceError: no run has begun, or it still goes on.
        """
        if not self._begun.done():
            if isinstance(error, NotFound) and self._sent.context_id is not None:
                raise InvalidParams("message.contextId", "names no conversation of yours with this agent") from None
            raise error
        if isinstance(error, NoSuchConversation):  # the erasing may not be committed yet, so the task can't be read
            raise TaskNotFound("The task is gone with its conversation.") from None
        begun = self._begun_view
        try:
            now = await self._asked.task(begun.id)
        except TaskNotFound:  # refused when its turn came, so nothing is stored
            raise error from None
        if not now.ended:
            raise error
        if not self._is_stored.done():  # cancelled while it waited, and stored at its turn
            await self._keep_push(now)
        note = error.note if now.state == "failed" else None
        return self._told(begun._replace(state=now.state, reply=now.reply, error=note, ended_at=now.ended_at))

    def _told(self, view: TaskView) -> TaskView:
        """Stream the end of a task; return the task."""
        if not self._streams:
            return view
        if not self._begun.done():
            self._asked.send({"task": tasks.task(view, self._sent.history_length)})
        for event in tasks.last_events(view, self._pieces):
            self._asked.send(event)
        return view

    async def _keep_push_once_stored(self, talking: asyncio.Task[Talked]) -> None:
        await asyncio.wait({talking, self._is_stored}, return_when=asyncio.FIRST_COMPLETED)
        await self._keep_push(await self._asked.task(self._begun_view.id))

    async def _keep_push(self, view: TaskView) -> None:
        push = self._sent.push
        if push is not None:
            target = PushTarget(push.url, push.token, push.scheme, push.credentials)
            await push_configs.add(self._asked.call, view, push.id, target, tell=True)


def _other_request() -> InvalidParams:
    return InvalidParams("message.messageId", "was used for another request in the last 24 hours; send a new one")
