"""The requests of A2A's operations, read from their parameters (a2a.proto 1.0.1, the messages `...Request`)."""

from hashlib import sha256
from typing import Any, NamedTuple, cast

import orjson

from actors.slices import Steps
from routes.a2a.errors import ContentTypeNotSupported, InvalidParams, VersionNotSupported
from routes.a2a.reading import Members, list_at, member, needed_text, object_at, text_at, time_at, truth, whole_number

VERSION = "1.0"
MAX_TEXT = 32_000
"""The largest number of characters of a message, as of AP_Chat's `content`."""
_GROUP = 64
"""Parts that are read in one go."""
MAX_PAGE = 100
DEFAULT_PAGE = 50

STATES = (
    "TASK_STATE_UNSPECIFIED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
)
"""The states by their numbers in the enum."""


class PushConfig(NamedTuple):
    """A request for push notifications; `id` is None if the gateway is to make one."""

    id: str | None
    url: str
    token: str | None
    scheme: str | None
    credentials: str | None


class MessageSent(NamedTuple):
    """SendMessageRequest; `fingerprint` is a digest of all of it."""

    message_id: str
    text: str
    context_id: str | None
    task_id: str | None
    history_length: int | None
    return_immediately: bool
    push: PushConfig | None
    fingerprint: str


class TaskAsked(NamedTuple):
    """GetTaskRequest, and the requests that only name a task."""

    id: str
    history_length: int | None = None


class TasksAsked(NamedTuple):
    """ListTasksRequest; `after` is in ms since the epoch."""

    context_id: str | None
    state: str | None
    page_size: int
    page_token: str | None
    history_length: int | None
    after: int | None
    artifacts: bool


class ConfigAsked(NamedTuple):
    """A push notification config of a task, by the ids of both."""

    task_id: str
    id: str


class ConfigsAsked(NamedTuple):
    """ListTaskPushNotificationConfigsRequest."""

    task_id: str
    page_size: int
    page_token: str | None


def require_version(sent: str | None) -> None:
    """Refuse a request of another version; patch numbers make no difference (section 3.6).

    Raises:
        VersionNotSupported: it is of another one, or of none, which stands for 0.3.
    """
    if sent is not None and sent.strip().split(".")[:2] == VERSION.split("."):
        return
    named = f"version {sent[:32]}" if sent else "no version, which stands for 0.3"
    raise VersionNotSupported(
        f"The request names {named}; this agent speaks A2A {VERSION}: send A2A-Version: {VERSION}."
    )


def message_sent(params: Members) -> Steps[MessageSent]:
    """Read SendMessageRequest.

    Raises:
        InvalidParams: something in it is absent or wrong.
        ContentTypeNotSupported: a part is no text, or the answer must not be text.
    """
    message = object_at(params, "message")
    if message is None:
        raise InvalidParams("message", "is required")
    configuration = object_at(params, "configuration") or {}
    if member(message, "role") not in ("ROLE_USER", 1):
        raise InvalidParams("message.role", "must be ROLE_USER")
    _require_text_accepted(configuration)
    push = object_at(configuration, "taskPushNotificationConfig", "configuration.")
    return MessageSent(
        needed_text(message, "messageId", "message."),
        (yield from _text_of(message)),
        text_at(message, "contextId", "message.", most=200),
        text_at(message, "taskId", "message."),
        whole_number(configuration, "historyLength", "configuration."),
        truth(configuration, "returnImmediately", "configuration."),
        None if push is None else push_config(push, "configuration.taskPushNotificationConfig."),
        sha256(orjson.dumps(params, option=orjson.OPT_SORT_KEYS)).hexdigest(),
    )


def _text_of(message: Members) -> Steps[str]:
    parts = list_at(message, "parts", "message.")
    if not parts:
        raise InvalidParams("message.parts", "must have at least one part")
    texts: list[str] = []
    for place, part in enumerate(parts):
        if place % _GROUP == 0:
            yield
        texts.append(_text_part(part, f"message.parts[{place}]"))
    text = "\n".join(texts)
    if not text.strip():
        raise InvalidParams("message.parts", "must not be blank")
    if len(text) > MAX_TEXT:
        raise InvalidParams("message.parts", f"must have up to {MAX_TEXT:,} characters of text together")
    if "\0" in text:
        raise InvalidParams("message.parts", "must not contain NUL")
    return text


def _text_part(sent: Any, path: str) -> str:
    if not isinstance(sent, dict):
        raise InvalidParams(path, "must be an object")
    part = cast(Members, sent)
    if any(member(part, kind) is not None for kind in ("raw", "url", "file")) or "data" in part:  # `file` is 0.3's
        raise ContentTypeNotSupported(f"{path} is not text; this agent takes text parts only.")
    media_type = text_at(part, "mediaType", f"{path}.")
    if media_type is not None and not media_type.lower().startswith("text/"):
        raise ContentTypeNotSupported(f"{path} is of the type {media_type}; this agent takes text only.")
    text = member(part, "text")
    if not isinstance(text, str):
        raise InvalidParams(f"{path}.text", "must be a string" if text is not None else "is required")
    return text


def _require_text_accepted(configuration: Members) -> None:
    modes = list_at(configuration, "acceptedOutputModes", "configuration.")
    kinds = [mode.partition(";")[0].strip().lower() for mode in modes if isinstance(mode, str)]
    if len(kinds) < len(modes):
        raise InvalidParams("configuration.acceptedOutputModes", "must be media types")
    if kinds and not {"text/plain", "text/*", "*/*", "*", "text"}.intersection(kinds):
        raise ContentTypeNotSupported("This agent answers in text/plain; add it to configuration.acceptedOutputModes.")


def push_config(config: Members, path: str = "") -> PushConfig:
    """Read TaskPushNotificationConfig.

    Raises:
        InvalidParams: something in it is absent or wrong.
    """
    authentication = object_at(config, "authentication", path)
    scheme = credentials = None
    if authentication is not None:
        scheme = needed_text(authentication, "scheme", f"{path}authentication.", most=64)
        credentials = text_at(authentication, "credentials", f"{path}authentication.", most=4_096)
    token = text_at(config, "token", path, most=4_096)
    for name, value in (
        ("authentication.scheme", scheme),
        ("authentication.credentials", credentials),
        ("token", token),
    ):
        if value is not None and not (value.isascii() and value.isprintable()):
            raise InvalidParams(path + name, "must be printable ASCII, because it is sent in a header")
    return PushConfig(
        text_at(config, "id", path, most=128), needed_text(config, "url", path, most=2_048), token, scheme, credentials
    )


def task_asked(params: Members) -> TaskAsked:
    """Read GetTaskRequest, CancelTaskRequest or SubscribeToTaskRequest.

    Raises:
        InvalidParams: something in it is absent or wrong.
    """
    return TaskAsked(needed_text(params, "id"), whole_number(params, "historyLength"))


def tasks_asked(params: Members) -> TasksAsked:
    """Read ListTasksRequest.

    Raises:
        InvalidParams: something in it is wrong.
    """
    state = member(params, "status")
    if isinstance(state, int) and 0 <= state < len(STATES):
        state = STATES[state]
    if state is not None and state not in STATES:
        raise InvalidParams("status", f"must be one of {', '.join(STATES[1:])}")
    page_size = whole_number(params, "pageSize", least=1, most=MAX_PAGE)
    return TasksAsked(
        text_at(params, "contextId"),
        None if state == STATES[0] else state,
        DEFAULT_PAGE if page_size is None else page_size,
        text_at(params, "pageToken"),
        whole_number(params, "historyLength"),
        time_at(params, "statusTimestampAfter"),
        truth(params, "includeArtifacts"),
    )


def config_asked(params: Members) -> ConfigAsked:
    """Read the request that gets or deletes a push notification config.

    Raises:
        InvalidParams: an id is absent or wrong.
    """
    return ConfigAsked(needed_text(params, "taskId"), needed_text(params, "id"))


def configs_asked(params: Members) -> ConfigsAsked:
    """Read ListTaskPushNotificationConfigsRequest.

    Raises:
        InvalidParams: something in it is absent or wrong.
    """
    page_size = whole_number(params, "pageSize", most=MAX_PAGE)
    return ConfigsAsked(needed_text(params, "taskId"), page_size or DEFAULT_PAGE, text_at(params, "pageToken"))
