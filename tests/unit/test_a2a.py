"""A2A's messages, checked against the official SDK's protobuf classes."""

from typing import Any

import orjson
import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import A2A_ERROR_MAPPING, JSON_RPC_ERROR_CODE_MAP, A2AError
from google.protobuf.json_format import MessageToDict, ParseDict

from actors import errors as service_errors
from actors.commands.tasks import TaskView
from actors.engines.message import Source, Utterance
from actors.errors import InternalError, MalformedBody, NoCredential, QuotaExceeded, ServiceError, UserSuspended
from actors.slices import whole
from actors.webhooks.push import PushTarget, TaskEnd
from persistence.agents import AgentRow
from routes.a2a import cards, errors, jsonrpc, requests, tasks
from routes.a2a.errors import ContentTypeNotSupported, InvalidParams, VersionNotSupported

MESSAGE = Utterance("msg_1", "user", "lovelace", "How far is the Moon?", 1, 1_790_000_000_000)
REPLY = Utterance(
    "msg_2", "agent", "scout", "384,400 km.", 2, 1_790_000_001_500, (Source("bank", "space", "moon", "384,400 km"),)
)
DONE = TaskView("run_1", 1, "cnv_1", "completed", MESSAGE, REPLY)
AGENT = AgentRow("agt_1", "usr_1", "lovelace", "scout", "Finds things.", "Be brief.", "public", True, 1, 2)


def sent(message: dict[str, Any] | None = None, **beside: Any) -> dict[str, Any]:
    """Return parameters of SendMessage."""
    text = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}
    return {"message": text | (message or {})} | beside


def test_every_error_has_the_codes_of_the_official_sdk():
    by_name = {kind.__name__.removesuffix("Error"): kind for kind in A2A_ERROR_MAPPING}
    ours = {
        "TaskNotFound": errors.TaskNotFound,
        "TaskNotCancelable": errors.TaskNotCancelable,
        "UnsupportedOperation": errors.UnsupportedOperation,
        "ContentTypeNotSupported": errors.ContentTypeNotSupported,
        "VersionNotSupported": errors.VersionNotSupported,
        "InvalidParams": InvalidParams,
        "InvalidRequest": errors.InvalidRequest,
        "MethodNotFound": errors.MethodNotFound,
    }
    for name, kind in ours.items():
        theirs: type[A2AError] = by_name[name]
        meaning = errors.MEANINGS.get(kind) or errors.MEANINGS[kind.__mro__[1]]
        assert meaning.code == JSON_RPC_ERROR_CODE_MAP[theirs], name
        assert (meaning.status, meaning.name, meaning.reason) == A2A_ERROR_MAPPING[theirs], name


def test_every_error_of_the_gateway_has_a_meaning_of_its_own_or_of_the_error_it_is_derived_from():
    kinds = [
        kind for kind in vars(service_errors).values() if isinstance(kind, type) and issubclass(kind, ServiceError)
    ]
    assert len(kinds) > 20
    for kind in kinds:
        assert kind.__bases__ != (ServiceError,) or kind in errors.MEANINGS or kind is InternalError, kind
        meaning = errors.meaning_of(kind("A note."))
        assert meaning.code == errors.GATEWAY or -32768 <= meaning.code <= -32001
        assert kind is ServiceError or not meaning.outside or meaning.status == kind.http_code, kind


def test_an_invalid_parameter_is_named_in_both_bindings():
    error = InvalidParams("message.parts", "must have at least one part")
    details = errors.rpc_error(error)["data"]
    assert details[1]["fieldViolations"] == [{"field": "message.parts", "description": "must have at least one part"}]
    assert errors.http_error(error)["error"] == {
        "code": 400,
        "status": "INVALID_ARGUMENT",
        "message": "Invalid parameters: message.parts must have at least one part.",
        "details": details,
    }


def test_refusals_of_the_gateway_keep_their_http_status_in_json_rpc():
    assert jsonrpc.http_status(NoCredential("?")) == 401
    assert jsonrpc.http_status(QuotaExceeded("?")) == 429
    assert jsonrpc.http_status(UserSuspended("?")) == 403
    assert errors.http_error(UserSuspended("?"))["error"]["code"] == 403
    assert jsonrpc.http_status(errors.TaskNotFound("?")) == 200


def test_a_task_is_what_the_official_sdk_reads():
    read = ParseDict(tasks.task(DONE), pb.Task())
    assert read.id == "run_1"
    assert read.context_id == "cnv_1"
    assert read.status.state == pb.TASK_STATE_COMPLETED
    assert read.status.timestamp.ToJsonString() == "2026-09-21T14:13:21.500Z"
    assert [part.text for part in read.artifacts[0].parts] == ["384,400 km."]
    assert MessageToDict(read.artifacts[0].metadata) == {
        "sources": [{"bank": "space", "name": "moon", "quote": "384,400 km"}]
    }
    assert [(one.role, one.parts[0].text, one.task_id) for one in read.history] == [
        (pb.ROLE_USER, "How far is the Moon?", "run_1")
    ]


def test_history_and_artifacts_are_left_out_where_they_are_not_wanted():
    assert "history" not in tasks.task(DONE, 0)
    assert len(tasks.task(DONE, 1)["history"]) == 1
    assert "artifacts" not in tasks.task(DONE, artifacts=False)


def test_a_failed_task_tells_why_but_not_to_push_receivers():
    failed = DONE._replace(state="failed", reply=None, error="The engine is down.")
    update = ParseDict(tasks.status_update(failed), pb.StreamResponse()).status_update
    assert update.status.message.parts[0].text == "The engine is down."
    told = orjson.loads(TaskEnd("run_1", "cnv_1", "failed", MESSAGE.at).body())
    read = ParseDict(told, pb.StreamResponse()).status_update
    assert (read.task_id, read.context_id, read.status.state) == ("run_1", "cnv_1", pb.TASK_STATE_FAILED)
    assert not read.status.HasField("message")


def test_a_notification_proves_where_it_comes_from():
    target = PushTarget("https://x.example/hook", "t", "Bearer", "c")
    assert PushTarget.unpacked(target.packed()) == target
    headers = target.headers()
    assert (headers["Authorization"], headers["X-A2A-Notification-Token"]) == ("Bearer c", "t")
    assert "Authorization" not in PushTarget("https://x.example/hook", None, "Bearer", None).headers()
    assert not any(secret in repr(target) for secret in ("x.example", "'t'", "'c'"))


def test_pieces_of_an_artifact_are_what_the_official_sdk_reads():
    read = ParseDict(tasks.artifact_update(DONE, "384", append=False, last=False), pb.StreamResponse()).artifact_update
    assert (read.task_id, read.context_id, read.append, read.last_chunk) == ("run_1", "cnv_1", False, False)
    assert read.artifact.artifact_id == tasks.task(DONE)["artifacts"][0]["artifactId"]


def test_a_card_is_what_the_official_sdk_reads():
    read = ParseDict(cards.card_of(AGENT, "https://parley.example"), pb.AgentCard())
    assert [(one.url, one.protocol_binding, one.protocol_version) for one in read.supported_interfaces] == [
        ("https://parley.example/a2a/scout", "JSONRPC", "1.0"),
        ("https://parley.example/a2a/scout", "HTTP+JSON", "1.0"),
    ]
    assert read.capabilities.streaming
    assert read.capabilities.push_notifications
    assert read.skills[0].description == "Finds things."
    extended = ParseDict(cards.card_of(AGENT, "https://parley.example", extended=True), pb.AgentCard())
    assert extended.skills[0].description == "Finds things.\n\nBe brief."


@pytest.mark.parametrize(
    ("known", "expected"), [('"x"', True), ('W/"x", "y"', True), ("*", True), ('"y"', False), (None, False)]
)
def test_a_card_that_is_known_need_not_be_sent(known: str | None, expected: bool):
    assert cards.is_known('"x"', known) is expected


def message_sent(params: dict[str, Any]) -> requests.MessageSent:
    return whole(requests.message_sent(params))


def test_members_may_be_named_as_in_the_proto_file():
    read = message_sent(
        {
            "message": {"message_id": "m1", "role": 1, "parts": [{"text": "a"}, {"text": "b"}], "context_id": "mine"},
            "configuration": {"return_immediately": True, "history_length": "3"},
            "unknown": {"is": "ignored"},
        }
    )
    assert read[:6] == ("m1", "a\nb", "mine", None, 3, True)


def test_what_the_official_sdk_writes_is_read():
    written = MessageToDict(
        pb.SendMessageRequest(
            message=pb.Message(message_id="m1", role=pb.ROLE_USER, parts=[pb.Part(text="Hi")]),
            configuration=pb.SendMessageConfiguration(
                task_push_notification_config=pb.TaskPushNotificationConfig(
                    url="https://x.example/hook",
                    token="t",
                    authentication=pb.AuthenticationInfo(scheme="Bearer", credentials="c"),
                )
            ),
        )
    )
    read = message_sent(written)
    assert read.push == (None, "https://x.example/hook", "t", "Bearer", "c")


def test_the_order_of_members_makes_no_other_request_but_a_value_does():
    one = message_sent(sent(configuration={"historyLength": 1}))
    turned = dict(reversed(sent(configuration={"historyLength": 1}).items()))
    assert message_sent(turned).fingerprint == one.fingerprint
    assert message_sent(sent(configuration={"historyLength": 2})).fingerprint != one.fingerprint


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "message"),
        ({"message": []}, "message"),
        (sent({"messageId": ""}), "message.messageId"),
        (sent({"messageId": 5}), "message.messageId"),
        (sent({"messageId": "x" * 257}), "message.messageId"),
        (sent({"role": "ROLE_AGENT"}), "message.role"),
        (sent({"parts": []}), "message.parts"),
        (sent({"parts": [{"text": " \n"}]}), "message.parts"),
        (sent({"parts": [{"text": "x" * 32_001}]}), "message.parts"),
        (sent({"parts": [{"text": "a\0b"}]}), "message.parts"),
        (sent({"parts": [{}]}), "message.parts[0].text"),
        (sent({"parts": ["Hi"]}), "message.parts[0]"),
        (sent({"contextId": "x" * 201}), "message.contextId"),
        (sent(configuration={"historyLength": -1}), "configuration.historyLength"),
        (sent(configuration={"historyLength": True}), "configuration.historyLength"),
        (sent(configuration={"returnImmediately": "yes"}), "configuration.returnImmediately"),
        (sent(configuration={"taskPushNotificationConfig": {}}), "configuration.taskPushNotificationConfig.url"),
    ],
)
def test_a_wrong_message_is_refused_by_the_path_of_its_fault(params: dict[str, Any], field: str):
    with pytest.raises(InvalidParams) as refused:
        message_sent(params)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "message",
    [
        {"parts": [{"raw": "dGNr", "mediaType": "application/x"}]},
        {"parts": [{"url": "https://x.example/a.png"}]},
        {"parts": [{"data": {"a": 1}}]},
        {"parts": [{"data": None}]},
        {"parts": [{"text": "{}", "mediaType": "application/json"}]},
        {"parts": [{"text": "Hi"}, {"data": 1}]},
    ],
)
def test_parts_that_are_no_text_are_refused(message: dict[str, Any]):
    with pytest.raises(ContentTypeNotSupported):
        message_sent(sent(message))


def test_a_client_that_takes_no_text_is_refused():
    with pytest.raises(ContentTypeNotSupported):
        message_sent(sent(configuration={"acceptedOutputModes": ["image/png"]}))
    assert message_sent(sent(configuration={"acceptedOutputModes": ["image/png", "text/plain"]})).text == "Hi"


@pytest.mark.parametrize("version", ["1.0", "1.0.1", " 1.0"])
def test_the_version_is_taken_without_its_patch_number(version: str):
    requests.require_version(version)


@pytest.mark.parametrize("version", [None, "", "0.3", "1", "1.1", "2.0", "99.0", "x"])
def test_other_versions_are_refused(version: str | None):
    with pytest.raises(VersionNotSupported):
        requests.require_version(version)


def test_a_list_of_tasks_has_the_contracts_defaults_and_bounds():
    assert requests.tasks_asked({}) == (None, None, 50, None, None, None, False)
    read = requests.tasks_asked(
        {"status": "TASK_STATE_WORKING", "pageSize": "100", "statusTimestampAfter": "2026-11-20T10:00:00Z"}
    )
    assert (read.state, read.page_size, read.after) == ("TASK_STATE_WORKING", 100, 1_795_168_800_000)
    for wrong in (
        {"pageSize": 0},
        {"pageSize": 101},
        {"status": "TASK_STATE_RUNNING"},
        {"status": {}},
        {"statusTimestampAfter": "yesterday"},
        {"statusTimestampAfter": "2026-11-20T10:00:00"},
    ):
        with pytest.raises(InvalidParams):
            requests.tasks_asked(wrong)


METHODS = frozenset({"GetTask"})


@pytest.mark.parametrize(
    ("body", "code", "id"),
    [
        (b"{", -32700, None),
        (b"\xff", -32700, None),
        (b"[]", -32600, None),
        (b'{"jsonrpc": "2.0", "method": "GetTask"}', -32600, None),
        (b'{"jsonrpc": "1.0", "method": "GetTask", "id": 1}', -32600, 1),
        (b'{"jsonrpc": "2.0", "method": 7, "id": "a"}', -32600, "a"),
        (b'{"jsonrpc": "2.0", "method": "GetTask", "id": {}}', -32600, None),
        (b'{"jsonrpc": "2.0", "method": "tasks/get", "id": 3}', -32601, 3),
        (b'{"jsonrpc": "2.0", "method": "GetTask", "params": [], "id": 4}', -32602, 4),
    ],
)
def test_a_malformed_request_has_its_code_and_its_id_if_that_can_be_read(body: bytes, code: int, id: jsonrpc.Id):
    with pytest.raises(ServiceError) as refused:
        jsonrpc.params_of(jsonrpc.request_of(body), METHODS)
    answer = jsonrpc.failure(jsonrpc.id_of(body), refused.value)
    assert (answer["error"]["code"], answer["id"]) == (code, id)
    assert isinstance(refused.value, MalformedBody) is (code in (-32700, -32600))


def test_a_request_without_parameters_has_none():
    body = orjson.dumps({"jsonrpc": "2.0", "id": 0, "method": "GetTask"})
    sent = jsonrpc.request_of(body)
    assert (sent.id, sent.method, jsonrpc.params_of(sent, METHODS)) == (0, "GetTask", {})
