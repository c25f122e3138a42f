"""The OpenAPI document is valid, equals the committed one, and matches the routes."""

import re
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from openapi_spec_validator import OpenAPIV30SpecValidator
from sanic import Sanic

from actors.commands.table import COMMANDS, GROUPS
from actors.core import Core, CoreOptions
from actors.engines.recall import RecallEngine
from actors.sealing import Sealer
from persistence.sqlite.store import SqliteStore
from routes.app import HttpOptions, build_app
from routes.gateway.paths import by_sanic_path
from routes.gateway.table import ROUTES
from routes.http.access_log import AccessLog
from tests.support.gateway import BUS, CHECKOUT, Client, running
from tests.support.operator import SECRET, on_plan

NOT_IN_THE_DOCUMENT = {
    *(("GET", f"/{path}") for path in ("docs/assets/{name}", "console/assets/{asked}/{path}", "console/{view}")),
    ("HEAD", "/"),
}
"""Files of the pages; the console's views, which are all one page; the welcome without its body."""


@pytest.fixture
async def document(sanic_client: Client) -> dict[str, Any]:
    answer = await sanic_client.request("GET", "/api/tps/openapi.json")
    assert answer.http == 200
    return answer.body


async def routes_of_the_app(folder: Path) -> set[tuple[str, str]]:
    """Return method and path of every route, in OpenAPI's notation."""
    store = await SqliteStore.open(folder / "parley.db")
    core = Core(store, RecallEngine(), Sealer(bytes(32)), CoreOptions())
    try:
        app = build_app(core, HttpOptions(version="0", dev_mocks_enabled=True), AccessLog(None))
        Sanic.unregister_app(app)
        rows = {
            (method, path.strip("/")): {row.path for row in verbs.routes.values()}
            for (method, path), verbs in by_sanic_path(ROUTES).items()
        }
        return {
            (method, path)
            for route in app.router.routes
            for method in route.methods
            for path in rows.get((method, route.path.strip("/")), ())
            or (re.sub(r"<(\w+):\w+>", r"{\1}", f"/{route.path.strip('/')}"),)
        }
    finally:
        await core.close(1)


async def test_the_document_is_valid_openapi_3_0_3(document: dict[str, Any]):
    assert document["openapi"] == "3.0.3"
    assert document["info"]["version"] == "2026-03-19"
    assert [str(error) for error in OpenAPIV30SpecValidator(document).iter_errors()] == []


async def test_the_served_document_is_the_committed_one(sanic_client: Client):
    async with sanic_client.http.get(sanic_client.base + "/api/tps/openapi.json") as served:
        assert await served.read() == (CHECKOUT / "docs" / "openapi.json").read_bytes()


async def test_json_and_yaml_say_the_same(sanic_client: Client, document: dict[str, Any]):
    async with sanic_client.http.get(sanic_client.base + "/api/tps/openapi.yaml") as served:
        assert served.content_type == "application/yaml"
        assert yaml.safe_load(await served.read()) == document


async def test_another_brand_stands_in_the_paths(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_BRAND="Acme") as gateway, gateway.client() as client:
        document = (await client.request("GET", "/api/tps/openapi.json")).body
        assert "/demo/v1/Acme/tps/agent/chat" in document["paths"]
        assert not any("Svc" in path for path in document["paths"])
        assert (await client.request("POST", "/demo/v1/Acme/tps/user/read", json={})).code == 2000
        assert (await client.request("POST", f"{BUS}/user/read", json={})).http == 404


async def test_every_route_is_in_the_document_and_the_reverse(tmp_path: Path, document: dict[str, Any]):
    documented = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert documented == await routes_of_the_app(tmp_path) - NOT_IN_THE_DOCUMENT


def test_every_alias_is_its_group_and_its_operation():
    groups = {"US": "user", "AP": "agent", "DM": "domain", "ZN": "zone", "MB": "bank", "CV": "conversation"}
    for service, command in COMMANDS.items():
        prefix, operation = service.split("_")
        assert command.alias == f"/{groups[prefix]}/{operation.lower()}"


async def test_every_command_has_an_operation_of_its_name_under_its_group_s_tag(document: dict[str, Any]):
    for service, command in COMMANDS.items():
        operation = document["paths"][BUS + command.alias]["post"]
        assert (operation["operationId"], operation["tags"]) == (service, [GROUPS[command.group]])
    bus = document["paths"][BUS]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert bus == {"$ref": "#/components/schemas/TPSRequest"}
    assert document["components"]["schemas"]["TPSRequest"]["properties"]["service"]["enum"] == list(COMMANDS)


async def test_the_bus_declares_the_answers_and_parameters_of_all_commands(document: dict[str, Any]):
    aliases = [document["paths"][BUS + command.alias]["post"] for command in COMMANDS.values()]
    bus = document["paths"][BUS]["post"]
    assert set(bus["responses"]["200"]["content"]) == {
        media for alias in aliases for media in alias["responses"]["200"]["content"]
    }
    assert {parameter["$ref"] for parameter in bus["parameters"]} == {
        parameter["$ref"] for alias in aliases for parameter in alias.get("parameters", [])
    }


async def test_commands_declare_the_statuses_of_the_spec(document: dict[str, Any]):
    for path, methods in document["paths"].items():
        if path.startswith(BUS):
            assert {"200", "400", "401", "429", "500"} <= methods["post"]["responses"].keys(), path


async def test_a_gateway_body_may_lack_what_the_document_does_not_require_and_nothing_else(
    tmp_path: Path, document: dict[str, Any]
):
    async with running(tmp_path / "data", DEV_MOCKS_ENABLED="true") as gateway, gateway.client() as nobody:
        user = await on_plan(await nobody.register("amelia"), "builder")
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                media = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
                if path.startswith((BUS, "/a2a/")) or "$ref" not in media.get("schema", {}):
                    continue
                schema = document["components"]["schemas"][media["schema"]["$ref"].rpartition("/")[2]]
                for member, described in schema["properties"].items():
                    others = {key: value for key, value in media["example"].items() if key != member}
                    for body, needed in (
                        (others, member in schema.get("required", [])),
                        (others | {member: None}, not _takes_null(described)),
                    ):
                        headers = SECRET if path.startswith(("/api/admin/", "/api/dev/mock")) else {}
                        answer = await user.request(method.upper(), path, json=body, headers=headers)
                        refused = answer.http == 400 and answer.code == 1002
                        named = refused and answer.note.startswith(f"missing {member} field: send ")
                        one_of = ONE_OF.get(path, ())
                        lacks_all = bool(one_of) and not any(body.get(member) for member in one_of)
                        assert named is (needed or lacks_all), (path, body, answer)


ONE_OF = {"/api/mcp/tools/install": ("server", "url")}
"""Members of which a body needs one, as their descriptions say, because generators don't support such schemas."""


def _takes_null(schema: dict[str, Any]) -> bool:
    return any(branch.get("nullable", False) for branch in schema.get("anyOf", [schema]))


async def test_headers_that_a_caller_may_send_are_declared(document: dict[str, Any]):
    declared: dict[str, set[str]] = {}
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    for operation in operations:
        for written in operation["parameters"]:
            shared = document["components"]["parameters"].get(written.get("$ref", "").rpartition("/")[2])
            parameter = shared or written
            if parameter["in"] == "header":
                declared.setdefault(parameter["name"], set()).add(operation["operationId"])
    assert declared["Last-Event-ID"] == {"commandBus", "ZN_Stream", "streamEvents", "followRun"}
    assert declared["X-Conversation-Id"] == {"createChatCompletion", "createResponse"}
    assert declared["If-None-Match"] == {"getAgentCard"}
    assert declared["X-Request-Id"] == {operation["operationId"] for operation in operations}
    mutating = {service for service, command in COMMANDS.items() if command.mutates and not command.public}
    assert declared["Idempotency-Key"] >= {"commandBus", *mutating}


async def test_counted_requests_answer_with_the_rate_limit_headers_that_are_declared(
    user: Client, document: dict[str, Any]
):
    for method, path, status in (
        ("POST", f"{BUS}/user/read", 200),
        ("POST", f"{BUS}/agent/read", 400),
        ("GET", "/api/webhooks/endpoints", 200),
        ("POST", "/api/rules", 501),
    ):
        answer = await user.request(method, path, json={})
        assert answer.http == status
        response = document["paths"][path][method.lower()]["responses"][str(status)]
        if "$ref" in response:
            response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
        assert {"RateLimit", "RateLimit-Policy"} <= response["headers"].keys() & answer.headers.keys()


async def test_refusals_of_a_body_that_nothing_looks_at_are_declared(user: Client, document: dict[str, Any]):
    retry = "/api/webhooks/deliveries/{id}/retry"
    for path in (retry, "/api/rules"):
        answer = await user.request("POST", path.format(id="dlv_0"), data=BytesIO(bytes(1_100_000)))
        assert answer.refused(1004, 413).http == 413
        assert "413" in document["paths"][path]["post"]["responses"]
    answer = await user.request("POST", retry.format(id="dlv_0"), headers={"Idempotency-Key": "no blanks"})
    assert answer.refused(1003, 400).http == 400
    assert "400" in document["paths"][retry]["post"]["responses"]


async def test_the_schemas_of_the_spec_s_names_are_what_commands_refer_to(document: dict[str, Any]):
    schemas = document["components"]["schemas"]
    assert {"service", "target", "vx", "content"} <= schemas["TPSRequest"]["properties"].keys()
    assert schemas["TPSResponse"]["required"] == ["header", "status", "profile", "content"]
    for service, command in COMMANDS.items():
        if command.follow is None:
            answer = document["paths"][BUS + command.alias]["post"]["responses"]["200"]
            name = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            assert schemas[name].keys() == schemas["TPSResponse"].keys(), service
            assert schemas[name]["required"] == schemas["TPSResponse"]["required"]
            assert schemas[name]["properties"]["status"] == schemas["TPSResponse"]["properties"]["status"]
    for path, methods in document["paths"].items():
        for status, response in methods.get("post", {}).get("responses", {}).items():
            if path.startswith(BUS) and status != "200":
                refused = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
                schema = refused["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/TPSResponse"}


async def test_only_public_operations_need_no_credential(document: dict[str, Any]):
    open_to_all = SimpleNamespace(
        commands={service for service, command in COMMANDS.items() if command.public},
        routes={
            "getHealth",
            "getOpenapiJson",
            "getOpenapiYaml",
            "getWelcome",
            "getDocs",
            "getConsole",
            "openConsoleSession",
            "getMetrics",
            "listEventTypes",
            "issueSandboxKey",
            "listAgentCards",
        },
    )
    without = {
        operation["operationId"]
        for methods in document["paths"].values()
        for operation in methods.values()
        if operation["security"] == []
    }
    assert without == open_to_all.commands | open_to_all.routes
    assert open_to_all.commands == {"US_Create", "US_LogOn"}


def test_an_example_needs_no_selection():
    needing = [command for command in COMMANDS.values() if 3003 in command.errors and command.example]
    # CV_Search looks through all conversations; only the word "default" needs an agent there.
    assert [command.service for command in needing if "target" not in (command.example or {})] == ["CV_Search"]


@pytest.mark.parametrize("service", [service for service, command in COMMANDS.items() if command.example is not None])
async def test_every_example_is_a_request_that_its_own_schema_allows(service: str, document: dict[str, Any]):
    operation = document["paths"][BUS + COMMANDS[service].alias]["post"]
    media = operation["requestBody"]["content"]["application/json"]
    assert media["example"] == COMMANDS[service].example
    for path in COMMANDS[service].requires:
        value: Any = media["example"]
        for member in path.split("."):
            value = value[member]
        assert value
