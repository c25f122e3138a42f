"""OpenAPI schemas of OpenAI's API, as far as agents fill it; its clients know the rest."""

from routes.openapi.schemas import Schema, array, flag, ident, nullable, number, record, ref, text

_OBJECT: Schema = {"type": "object"}

MODEL = record(
    "An agent as a model.",
    id=text("The agent's name, or `<agent>:once`, which answers without a conversation.", example="scout"),
    object=text(enum=["model"]),
    created=number("When the agent was made, in seconds since the epoch."),
    owned_by=text("The agent's owner."),
)

MODELS = record("The models.", object=text(enum=["list"]), data=array(ref("Model")))

_USAGE = record("Tokens.", prompt_tokens=number(), completion_tokens=number(), total_tokens=number())

_MESSAGE = record(
    "The agent's message; also `tool_calls` where the model calls the client's functions.",
    role=text(enum=["assistant"]),
    content=nullable(text()),
    refusal=nullable(text()),
    annotations=array({"type": "object", "description": "A `url_citation` of a source."}),
)

COMPLETION = record(
    "A chat completion.",
    id=text(pattern="^chatcmpl-[0-9a-f]{32}$"),
    object=text(enum=["chat.completion"]),
    created=number(),
    model=text(),
    system_fingerprint=nullable(text()),
    choices=array(
        record(
            "The answer.",
            index=number(),
            message=_MESSAGE,
            logprobs=nullable(_OBJECT),
            finish_reason=text(enum=["stop", "length", "tool_calls", "content_filter"]),
        )
    ),
    usage=_USAGE,
)
COMPLETION["properties"]["metadata"] = {
    "type": "object",
    "description": "The request's metadata, with `conversation_id`; absent if nothing is stored.",
}


def _titled(title: str, **members: Schema) -> Schema:
    """Return an object with a title, which generators name its type by."""
    return {"title": title, "type": "object", "required": list(members), "properties": members}


RESPONSE = record(
    "A response. Further members repeat those of the request.",
    id=text(pattern="^resp_[0-9a-f]{32}$"),
    object=text(enum=["response"]),
    created_at=number(),
    completed_at=nullable(number()),
    status=text(enum=["in_progress", "completed", "incomplete", "failed", "cancelled"]),
    model=text(),
    output=array({"type": "object", "description": "A message of the agent, or a call of the client's function."}),
    conversation=nullable(_titled("ResponseConversation", id=ident("cnv"))),
    store={"type": "boolean"},
    error=nullable(_OBJECT),
    usage=nullable(_titled("ResponseUsage", input_tokens=number(), output_tokens=number(), total_tokens=number())),
)

DELETED = record("A deleted response.", id=text(), object=text(enum=["response"]), deleted={"type": "boolean"})

INPUT_ITEMS = record(
    "The items that a response answers.",
    object=text(enum=["list"]),
    data=array(
        record(
            "The user's message.",
            id=ident("msg"),
            type=text(enum=["message"]),
            status=text(enum=["completed"]),
            role=text(enum=["user"]),
            content=array(record("Its text.", type=text(enum=["input_text"]), text=text())),
        )
    ),
    first_id=nullable(text()),
    last_id=nullable(text()),
    has_more=flag(),
)

_TEXT_OR_PARTS: Schema = {"oneOf": [text(), array(_OBJECT)], "description": "A text, or parts with text."}

_COMMON: Schema = {
    "model": text("The agent's name, or `<agent>:once`.", example="scout"),
    "stream": {"type": "boolean"},
    "store": {"type": "boolean", "description": "False: answer with no conversation, and store no text."},
    "metadata": {
        "type": "object",
        "description": "`conversation_id` names the conversation: a `cnv_` id, or an id of your own.",
    },
    "user": text("Your own user; conversations are found by their text for the same one only."),
    "temperature": {"type": "number", "minimum": 0, "maximum": 2},
    "top_p": {"type": "number", "minimum": 0, "maximum": 1},
    "tools": array(_OBJECT),
}

CHAT_BODY: Schema = {
    "type": "object",
    "required": ["model", "messages"],
    "description": "A chat completion's request. Members that are not used are ignored.",
    "properties": {
        **_COMMON,
        "messages": {
            **array(record("A message.", role=text(), content=_TEXT_OR_PARTS)),
            "minItems": 1,
            "description": "The conversation so far; the last one is the user's, and is what is said.",
        },
        "stream_options": {"type": "object", "properties": {"include_usage": {"type": "boolean"}}},
        "max_completion_tokens": number(minimum=1),
        "stop": {"oneOf": [text(), array(text())]},
        "seed": number(),
        "response_format": _OBJECT,
    },
}

RESPONSE_BODY: Schema = {
    "type": "object",
    "required": ["model", "input"],
    "description": "A response's request. Members that are not used are ignored.",
    "properties": {
        **_COMMON,
        "input": {**_TEXT_OR_PARTS, "description": "A text, or messages of which the last one is the user's."},
        "instructions": nullable(text("Further instructions to the engine `openai`.")),
        "conversation": {
            "oneOf": [text(), record("A conversation.", id=text())],
            "description": "A `cnv_` id, or an id of your own.",
        },
        "previous_response_id": nullable(text("The response that this one follows.")),
        "max_output_tokens": number(minimum=1),
        "text": _OBJECT,
    },
}


def body_of(schema: Schema, example: Schema) -> Schema:
    """Return the description of a body."""
    return {"required": True, "content": {"application/json": {"schema": schema, "example": example}}}
