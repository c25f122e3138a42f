"""Requirements of client generators, linters and readers on the OpenAPI document, checked without these tools."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from openapi_schema_validator import OAS30Validator

from actors.commands.table import COMMANDS
from actors.errors import ServiceError
from tests.support.gateway import BUS, CHECKOUT, Client

METHODS = {"get", "post", "put", "patch", "delete"}
COMBINING = {"$ref", "allOf", "anyOf", "oneOf", "not"}
BUS_STATUSES = {200, 400, 401, 429, 500}
PROTOCOL = {1007, 1008}
"""Codes of the protocol, which keep their HTTP status on the command bus."""


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return orjson.loads((CHECKOUT / "docs" / "openapi.json").read_bytes())


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert method in METHODS
            yield method, path, operation


def resolved(document: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in value:
        return value
    found: Any = document
    for step in value["$ref"].removeprefix("#/").split("/"):
        found = found[step.replace("~1", "/").replace("~0", "~")]
    return found


def schemas_within(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Return every schema of the document, at any depth."""
    if isinstance(value, list):
        for number, item in enumerate(value):  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
            yield from schemas_within(item, f"{path}/{number}")
        return
    if not isinstance(value, dict):
        return
    known: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
    schemalike = known.keys() & {"type", "properties", "nullable", *COMBINING}
    if schemalike and not path.endswith(("/properties", "/bearer", "/apiKey", "/internalSecret")):
        yield path, known
    for key, item in known.items():
        if key not in ("example", "examples", "links"):
            yield from schemas_within(item, f"{path}/{key}")


def invalid(document: dict[str, Any], schema: dict[str, Any], value: Any) -> list[str]:
    whole = {**schema, "components": document["components"]}
    return [error.message for error in OAS30Validator(whole).iter_errors(value)]


def media(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return every body of a request or an answer."""
    for method, path, operation in operations(document):
        bodies = {"request": operation.get("requestBody", {}), **operation["responses"]}
        for which, body in bodies.items():
            for content in resolved(document, body).get("content", {}).values():
                yield f"{method} {path} {which}", content


def examples_of(content: dict[str, Any]) -> list[Any]:
    shown = [example["value"] for example in content.get("examples", {}).values()]
    return [content["example"], *shown] if "example" in content else shown


# operations and tags


def test_every_operation_has_an_id_of_its_own_a_summary_and_a_description(document: dict[str, Any]):
    ids = Counter(operation["operationId"] for *_, operation in operations(document))
    assert [id for id, times in ids.items() if times > 1] == []
    assert len(ids) > len(COMMANDS) + 30
    for method, path, operation in operations(document):
        assert operation["summary"].strip(), (method, path)
        assert operation["description"].strip(), (method, path)


def test_summaries_say_what_an_operation_does_for_its_reader(document: dict[str, Any]):
    summaries = {operation["operationId"]: operation["summary"] for *_, operation in operations(document)}
    assert summaries["createPushConfigByA2A"] == "Notify a URL when a task ends."
    assert summaries["deleteResponse"].startswith("Forget a response; its messages stay")
    assert summaries["getGraph"] == "Show a user's agents, domains and banks and how they are connected."


def test_every_tag_that_is_used_is_declared_once_and_described(document: dict[str, Any]):
    declared = [tag["name"] for tag in document["tags"]]
    assert set(declared) == {tag for *_, operation in operations(document) for tag in operation["tags"]}
    assert len(declared) == len(set(declared))
    assert [tag["name"] for tag in document["tags"] if not tag.get("description", "").strip()] == []


def test_the_introduction_tells_of_credentials_errors_repeats_pages_and_quotas(document: dict[str, Any]):
    info = document["info"]
    for word in ("US_LogOn", "X-Api-Key", "curl", "internal_code", "Idempotency-Key", "page.cursor", "RateLimit"):
        assert word in info["description"], word
    assert f"{BUS}/agent/chat" in info["description"]
    assert info["contact"]["name"]
    assert info["license"]["name"] == "Apache-2.0"


def test_the_introduction_tells_which_requests_ignore_an_idempotency_key(document: dict[str, Any]):
    ignoring = "ignore the key, as do PATCH, PUT and DELETE, and US_Create, US_LogOn and `POST /api/dev/sandbox-key`"
    assert ignoring in document["info"]["description"]
    taking = {
        (method, operation["operationId"])
        for method, _, operation in operations(document)
        for parameter in operation["parameters"]
        if parameter.get("$ref", "").endswith("/IdempotencyKey")
    }
    assert {method for method, _ in taking} == {"post"}
    assert not {"US_Create", "US_LogOn", "issueSandboxKey", "US_Read"} & {name for _, name in taking}


def test_no_reader_is_sent_to_sections_of_papers_that_are_not_published(document: dict[str, Any]):
    written = orjson.dumps(document).decode()
    assert (
        re.findall(r".{30}(?:\((?:spec|product)\b|\b(?:spec|product(?:\.md)?|section) \d).{10}", written, re.IGNORECASE)
        == []
    )


# schemas that generators understand


def test_every_command_has_a_flat_request_schema_with_its_own_members_alone(document: dict[str, Any]):
    for service, command in COMMANDS.items():
        operation = document["paths"][BUS + command.alias]["post"]
        content = operation["requestBody"]["content"]["application/json"]
        assert content["schema"] == {"$ref": f"#/components/schemas/{service}Request"}
        schema = resolved(document, content["schema"])
        assert [keys for _, part in schemas_within(schema) if (keys := COMBINING & part.keys())] == []
        paths = {f"{part}.{member}" for part, of in schema["properties"].items() for member in of.get("properties", ())}
        paths |= {part for part, of in schema["properties"].items() if "properties" not in of}
        assert paths == set(command.uses), service
        needed = {f"{part}.{member}" for part in schema.get("required", ()) for member in _required(schema, part)}
        assert {path.rstrip(".") for path in needed} == set(command.requires), service


def _required(schema: dict[str, Any], part: str) -> list[str]:
    return schema["properties"][part].get("required", [""])


def test_the_answer_of_each_command_names_the_records_that_its_lists_hold(document: dict[str, Any]):
    for service, command in COMMANDS.items():
        if command.follow is None:
            content = document["paths"][BUS + command.alias]["post"]["responses"]["200"]["content"]
            assert content["application/json"]["schema"] == {"$ref": f"#/components/schemas/{service}Response"}
            lists = document["components"]["schemas"][f"{service}Response"]["properties"]
            for name, kinds in (("profile", command.profile), ("content", command.content)):
                assert ("$ref" in lists[name]["items"]) == bool(kinds), service


def test_no_schema_has_a_shape_for_which_generators_leave_an_operation_or_its_body_out(document: dict[str, Any]):
    for path, schema in schemas_within(document):
        if schema.get("nullable"):
            assert "type" in schema, f"{path}: nullable has no meaning without a type"
            named = "title" in schema or not {"enum", "properties"} & schema.keys()
            assert named, f"{path}: generators would number its types"
            requests = ("/components/schemas/TPSRequest/", "/components/schemas/NewKey/")
            assert "allOf" not in schema or path.startswith(requests), f"{path}: readers of answers would take no null"
        assert len(schema.get("allOf", ())) <= 1, f"{path}: inheritance"
        if "properties" in schema:
            assert not COMBINING & schema.keys(), f"{path}: members and alternatives in one"
        if schema.get("type") == "object" and "required" in schema:
            assert set(schema["required"]) <= schema.get("properties", {}).keys(), f"{path}: required but not described"


def test_no_schema_has_the_name_of_a_class_that_generators_bring_along(document: dict[str, Any]):
    own = {"Response", "Request", "File", "Unset", "Client"}
    assert not document["components"]["schemas"].keys() & own


def test_a_body_of_several_media_types_refers_to_one_schema(document: dict[str, Any]):
    """Of inline schemas, generators make two classes of one name, and leave the operation out."""
    for _, path, operation in operations(document):
        content = operation.get("requestBody", {}).get("content", {})
        schemas = [each["schema"] for name, each in content.items() if name.endswith("json")]
        assert len(schemas) < 2 or all("$ref" in schema for schema in schemas), path


def test_every_schema_of_the_document_is_used(document: dict[str, Any]):
    written = orjson.dumps(document).decode()
    for kind, components in document["components"].items():
        if kind != "securitySchemes":
            unused = [name for name in components if f'"#/components/{kind}/{name}"' not in written]
            assert unused == [], kind


# examples


def test_every_example_is_what_its_schema_allows(document: dict[str, Any]):
    checked = 0
    for where, content in media(document):
        for example in examples_of(content):
            assert invalid(document, content["schema"], example) == [], where
            checked += 1
    for path, schema in schemas_within(document):
        if "example" in schema and "type" in schema:
            assert invalid(document, schema, schema["example"]) == [], path
    assert checked > len(COMMANDS)


def test_every_body_that_a_route_takes_as_json_has_an_example(document: dict[str, Any]):
    for method, path, operation in operations(document):
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        assert content is None or examples_of(content), (method, path)


def test_every_refusal_has_examples_which_are_refusals_with_that_http_status(document: dict[str, Any]):
    codes = {(error.internal_code, error.http_code) for error in ServiceError.__subclasses__()}
    for _, path, operation in operations(document):
        for http, response in operation["responses"].items():
            described = resolved(document, response)
            content = described.get("content", {}).get("application/json", {})
            if int(http) < 400 or content.get("schema", {}).get("$ref", "")[21:] not in ("TPSResponse", "Error"):
                continue
            examples = examples_of(content)
            assert examples, (path, http)
            for example in examples:
                status = example["status"]
                assert status["success"] is False
                assert status["note"]
                assert (status["internal_code"], status["http_code"]) in codes
                assert _http_of(status, on_bus=path.startswith(BUS)) == int(http), (path, status)
                if status["http_code"] in (429, 503):
                    assert "Retry-After" in described["headers"]


def _http_of(status: dict[str, Any], *, on_bus: bool) -> int:
    """Return the HTTP status that carries a status object."""
    precise: int = status["http_code"]
    if not on_bus or precise in BUS_STATUSES or status["internal_code"] in PROTOCOL:
        return precise
    return 400 if precise < 500 else 500


def test_every_code_that_a_command_can_answer_has_an_example(document: dict[str, Any]):
    shown = {
        example["status"]["internal_code"]
        for response in document["paths"][BUS]["post"]["responses"].values()
        for content in resolved(document, response)["content"].values()
        for example in examples_of(content)
    }
    assert shown == {error.internal_code for error in ServiceError.__subclasses__()} - {1006, 1501}


# the gateway behaves like the flat schemas


async def test_null_is_taken_for_every_member_that_the_document_lets_be_null(user: Client, document: dict[str, Any]):
    for service in ("AP_List", "DM_List", "MB_List", "US_Sessions"):
        schema = document["components"]["schemas"][f"{service}Request"]
        empty: list[dict[str, Any]] = [{part: None} for part in schema["properties"]]
        for part, described in schema["properties"].items():
            assert all(member["nullable"] for member in (described, *described["properties"].values()))
            empty.append({part: dict.fromkeys(described["properties"])})
        for body in empty:
            (await user.request("POST", BUS + COMMANDS[service].alias, json=body)).ok()


async def test_an_alias_ignores_members_that_its_schema_leaves_out_and_refuses_unknown_ones(user: Client):
    (await user.request("POST", f"{BUS}/user/read", json={"vx": {"name": "nobody"}, "service": "AP_Chat"})).ok()
    (await user.request("POST", f"{BUS}/user/read", json={"vx": {"nmae": "nobody"}})).refused(1003, 400)
