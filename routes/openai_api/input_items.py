"""GET /v1/responses/{id}/input_items."""

from typing import Literal

from pydantic import BaseModel, Field

from routes.gateway.route import RouteCall, RouteReply
from routes.openai_api.responses import run_of_response


class ItemsAsked(BaseModel):
    """The query of a list of items; other members of the API's are ignored."""

    after: str | None = Field(None, description="The id of the item that the page follows.")
    limit: int = Field(20, ge=1, le=100, description="The number of items on a page.")
    order: Literal["asc", "desc"] = "desc"


async def list_input_items(request: RouteCall) -> RouteReply:
    """List what a response answers: the user's message, which is all that is stored of its request."""
    asked: ItemsAsked = request.query
    message = (await run_of_response(request.call, request.params["response_id"], "response_id")).message
    content = [{"type": "input_text", "text": message.content}]
    item = {"id": message.id, "type": "message", "status": "completed", "role": "user", "content": content}
    items = [] if asked.after == message.id else [item]
    end = message.id if items else None
    return RouteReply({"object": "list", "data": items, "first_id": end, "last_id": end, "has_more": False})
