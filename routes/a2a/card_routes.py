"""Routes of agent cards and of the catalog of public agents."""

from http import HTTPStatus

import orjson
from pydantic import BaseModel, Field

from actors.commands.public_agents import public_agents, shown_agent
from persistence.users import name_key
from routes.a2a.cards import CARD_PATH, caching, card_of, is_known
from routes.a2a.doors import HTTP_JSON
from routes.a2a.requests import DEFAULT_PAGE, MAX_PAGE
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.openapi.schemas import array, flag, record, ref, text

CARD = record(
    "An agent card.",
    name=text(),
    description=text(),
    supportedInterfaces=array(
        record("A way to reach it.", url=text(format="uri"), protocolBinding=text(), protocolVersion=text())
    ),
    provider=record("The agent's owner.", organization=text(), url=text(format="uri")),
    version=text("The time of its last change."),
    documentationUrl=text(format="uri"),
    capabilities=record("What it can do.", streaming=flag(), pushNotifications=flag(), extendedAgentCard=flag()),
    securitySchemes={"type": "object", "description": "The credentials that it takes, by name."},
    securityRequirements=array({"type": "object", "description": "One of them is needed."}),
    defaultInputModes=array(text()),
    defaultOutputModes=array(text()),
    skills=array(record("A skill.", id=text(), name=text(), description=text(), tags=array(text()))),
)

SCHEMAS = {"AgentCard": CARD}


class CatalogAsked(BaseModel):
    """The query of the catalog."""

    size: int = Field(DEFAULT_PAGE, alias="pageSize", ge=1, le=MAX_PAGE, description="The number of cards on a page.")
    token: str = Field("", alias="pageToken", max_length=256, description="`nextPageToken` of the page before.")


async def list_cards(request: RouteCall) -> RouteReply:
    """Return a page of the public agents' cards."""
    asked: CatalogAsked = request.query
    found = await public_agents(request.call, name_key(asked.token), asked.size + 1)
    shown = found[: asked.size]
    more = shown[-1].name if len(found) > len(shown) else ""
    cards = [card_of(agent, request.base_url) for agent in shown]
    return RouteReply({"agents": cards, "nextPageToken": more})


async def read_card(request: RouteCall) -> RouteReply:
    """Return an agent's card, without a body to a client that has this version."""
    agent = await shown_agent(request.call, request.params["agent"])
    body = orjson.dumps(card_of(agent, request.base_url))
    headers = caching(body, agent)
    if is_known(headers["ETag"], request.received.header("if-none-match")):
        return RouteReply(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return RouteReply(body, headers=headers)


TAG = "A2A"

ROUTES = (
    Route(
        "GET",
        "/a2a/agents",
        "listAgentCards",
        TAG,
        "List the public agents' cards.",
        list_cards,
        reply=record("A page of the catalog.", agents=array(ref("AgentCard")), nextPageToken=text()),
        query=CatalogAsked,
        entrance="open",
        door=HTTP_JSON,
        service="AP_List",
    ),
    Route(
        "GET",
        f"/a2a/{{agent}}{CARD_PATH}",
        "getAgentCard",
        TAG,
        "Read an agent's card: a public agent's without a credential, another's if you may see it.",
        read_card,
        reply=ref("AgentCard"),
        headers=("ETag", "Cache-Control"),
        errors=(404,),
        entrance="guest",
        counts=False,
        door=HTTP_JSON,
    ),
)
