"""Mock routes for development, which exist only if DEV_MOCKS_ENABLED is set."""

from http import HTTPStatus
from typing import Annotated, Any, Literal

from pydantic import Field

from actors.calls.request import BlankIsMissing, Body, RequiredReference
from actors.commands.webhooks import emit_deployment
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.openapi.schemas import record, text


class MockDeployment(Body):
    """Body of a mock deployment."""

    user_id: RequiredReference = Field(description="The id of the user that it concerns.")
    action: Annotated[Literal["created", "updated", "deleted"], BlankIsMissing]
    deployment_id: RequiredReference
    data: dict[str, Any] | None = Field(None, description="Free-form.")


async def mock_agent_deployment(request: RouteCall) -> RouteReply:
    """Emit a deployment event without a deployment."""
    sent = request.body
    event_id = await emit_deployment(request.call, sent.user_id, sent.deployment_id, sent.action, sent.data or {})
    return RouteReply({"event_id": event_id}, HTTPStatus.ACCEPTED)


ROUTES = (
    Route(
        "POST",
        "/api/dev/mock-agent-deployment",
        "mockAgentDeployment",
        "Internal",
        "Emit a deployment event of a user; exists only if DEV_MOCKS_ENABLED is set.",
        mock_agent_deployment,
        reply=record("The event.", event_id=text(format="uuid")),
        status=HTTPStatus.ACCEPTED,
        body=MockDeployment,
        errors=(404,),
        entrance="internal",
        mutates=True,
        example={
            "user_id": "usr_019a8b1c2d3e7000800000000000000a",
            "action": "updated",
            "deployment_id": "deployment-7",
            "data": {"version": "2"},
        },
        mock=True,
    ),
)
