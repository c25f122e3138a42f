"""The routes of OpenAI's API."""

from functools import partial
from typing import Any

from routes.gateway.fast import asks_no_stream
from routes.gateway.route import Route
from routes.openai_api.chat import create_chat_completion, parse_chat
from routes.openai_api.errors import DOOR, ERROR
from routes.openai_api.input_items import ItemsAsked, list_input_items
from routes.openai_api.models import list_models, retrieve_model
from routes.openai_api.request import CheckedRequest
from routes.openai_api.responses import create_response, delete_response, parse_response, retrieve_response
from routes.openai_api.schemas import (
    CHAT_BODY,
    COMPLETION,
    DELETED,
    INPUT_ITEMS,
    MODEL,
    MODELS,
    RESPONSE,
    RESPONSE_BODY,
    body_of,
)
from routes.openapi.headers import OF_CHATS
from routes.openapi.schemas import parameter, ref, text

TAG = "OpenAI"

SCHEMAS = {"OpenAIError": ERROR, "Model": MODEL, "ChatCompletion": COMPLETION, "ResponseObject": RESPONSE}
PARAMETERS = {
    "ConversationId": parameter(
        "X-Conversation-Id",
        "header",
        text(maxLength=200),
        "The conversation to go on with, if the body names none: a `cnv_` id, or an id of your own, which begins one "
        "at its first use. Ignored beside the model `<agent>:once`.",
    )
}


def _named(asked: CheckedRequest) -> dict[str, str]:
    return {"agent": asked.agent}


_route: Any = partial(Route, tag=TAG, door=DOOR)
_saying: Any = partial(
    _route,
    mutates=True,
    streams=True,
    keys_runs=True,
    named=_named,
    errors=(400, 403, 404, 409, 502),
    headers=OF_CHATS,
    parameters=({"$ref": "#/components/parameters/ConversationId"},),
)

ROUTES: tuple[Route, ...] = (
    _route(
        "GET",
        "/v1/models",
        "listModels",
        summary="List the agents that you may chat with as models: your own and those of your roster, online.",
        run=list_models,
        reply=MODELS,
        service="AP_List",
        counts=False,
    ),
    _route(
        "GET",
        "/v1/models/{model}",
        "retrieveModel",
        summary="Read a model: an agent that is online and that you may chat with.",
        run=retrieve_model,
        service="AP_Read",
        reply=ref("Model"),
        errors=(404,),
        counts=False,
    ),
    _saying(
        "POST",
        "/v1/chat/completions",
        "createChatCompletion",
        summary="Say something to an agent, in the shape of OpenAI's chat completions.",
        run=create_chat_completion,
        reply=ref("ChatCompletion"),
        parse=parse_chat,
        fast=asks_no_stream,
        described_body=body_of(
            CHAT_BODY, {"model": "scout", "messages": [{"role": "user", "content": "How far is the Moon?"}]}
        ),
    ),
    _saying(
        "POST",
        "/v1/responses",
        "createResponse",
        summary="Say something to an agent, in the shape of OpenAI's responses.",
        run=create_response,
        reply=ref("ResponseObject"),
        parse=parse_response,
        fast=asks_no_stream,
        described_body=body_of(RESPONSE_BODY, {"model": "scout", "input": "How far is the Moon?"}),
    ),
    _route(
        "GET",
        "/v1/responses/{response_id}",
        "retrieveResponse",
        summary="Read a response again.",
        run=retrieve_response,
        reply=ref("ResponseObject"),
        errors=(400, 404),
        counts=False,
    ),
    _route(
        "GET",
        "/v1/responses/{response_id}/input_items",
        "listInputItems",
        summary="List what a response answers: the user's message.",
        run=list_input_items,
        query=ItemsAsked,
        reply=INPUT_ITEMS,
        errors=(400, 404),
        counts=False,
    ),
    _route(
        "DELETE",
        "/v1/responses/{response_id}",
        "deleteResponse",
        summary="Forget a response; its messages stay until their conversation is erased.",
        run=delete_response,
        reply=DELETED,
        errors=(404,),
        mutates=True,
    ),
)
