"""POST /v1/chat/completions."""

from actors.slices import sliced
from routes.gateway.route import RouteCall, RouteReply
from routes.http.bodies import json_object, next_turn
from routes.http.exchange import Received
from routes.openai_api.completions import Chunks, completion
from routes.openai_api.models import agent_id_of
from routes.openai_api.repeats import CONVERSATION_ID
from routes.openai_api.request import CheckedRequest, read_chat
from routes.openai_api.saying import answered_by, headers_of, require_possible, said_to, saying_of
from routes.openai_api.streaming import StreamedAnswer


async def parse_chat(received: Received) -> CheckedRequest:
    """Check the body of a chat completion.

    Raises:
        ServiceError: it is not JSON, or a member is missing, wrong or unsupported.
    """
    body = json_object(received.body, received.header("content-type"), len(received.body))
    await next_turn(received.body)
    return await sliced(read_chat(body, received.header(CONVERSATION_ID)))


async def create_chat_completion(request: RouteCall) -> RouteReply:
    """Say the last message to the agent, and answer with a completion, whole or in chunks."""
    call, asked, stream = request.call, request.body, request.stream
    require_possible(call, asked, "response_format")
    agent_id = await agent_id_of(call, asked)
    saying, streamed = saying_of(request), None
    if asked.stream and stream is not None:
        streamed = StreamedAnswer(stream, asked.model, lambda heading: Chunks(heading, asked.include_usage))
        await streamed.open(call, saying)
    talked = await said_to(call, agent_id, asked, saying)
    answered = answered_by(talked, asked)
    if streamed is not None:
        streamed.end(answered)
        return RouteReply()
    headers = headers_of(answered.heading, talked.replayed)
    return RouteReply(completion(answered, asked.echoed["metadata"]), quoted=talked.quoted, headers=headers)
