"""subscriptions/listen: a stream of changes, for clients of 2026-07-28 (docs/mcp.md, "Subscriptions")."""

from typing import TYPE_CHECKING, Any

from actors.commands.watching import PROMPTS, RESOURCES, Change, Watch, watch_of
from actors.errors import InvalidCredential, NotFound, ServiceError
from routes.mcp.asgi_bridge import McpMessage
from routes.mcp.resources import readable

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import ServerNotification, SubscriptionsListenRequestParams, SubscriptionsListenResult

WAIT_S = 60.0
"""Seconds of one wait for changes; the SDK keeps a silent connection alive."""


async def subscribe(watch: Watch, groups: frozenset[str], uri: str) -> None:
    """Watch the resource of a URI.

    Raises:
        NotFound, NotPermitted: there is none that the caller may read, or this address does not offer it.
        InvalidField: its names break their rules.
        StateConflict: the watch has too many.
    """
    _, place = readable(groups, uri)
    if place.cursor:
        raise NotFound("A page can't be watched: subscribe to the URI without its cursor.")
    await watch.subscribe(uri, place.kind, place.names)


async def listen(
    context: "ServerRequestContext[Any]", params: "SubscriptionsListenRequestParams", asked: McpMessage
) -> "SubscriptionsListenResult":
    """Serve one stream: acknowledge what is watched, then tell each change, until the client goes or the watch ends.

    Raises:
        ServiceError: it can't be watched now.
    """
    from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY  # noqa: PLC0415
    from mcp_types import (  # noqa: PLC0415
        SubscriptionFilter,
        SubscriptionsAcknowledgedNotification,
        SubscriptionsAcknowledgedNotificationParams,
        SubscriptionsListenResult,
    )

    wanted, number = params.notifications, context.request_id
    asks = {RESOURCES: wanted.resources_list_changed, PROMPTS: wanted.prompts_list_changed}
    lists = frozenset(change for change, asked_for in asks.items() if asked_for)
    watch = watch_of(asked.call, lists)
    meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: number}
    try:
        await watch.start()
        for uri in wanted.resource_subscriptions or ():
            await _subscribe_if_there(watch, asked, uri)
        honored = SubscriptionFilter(
            prompts_list_changed=PROMPTS in lists or None,
            resources_list_changed=RESOURCES in lists or None,
            resource_subscriptions=watch.uris or None,
        )
        acknowledged = SubscriptionsAcknowledgedNotificationParams(notifications=honored, _meta=meta)
        await context.session.send_notification(
            SubscriptionsAcknowledgedNotification(params=acknowledged), related_request_id=number
        )
        while (changes := await watch.next(WAIT_S)) is not None:
            for change in changes:
                await context.session.send_notification(notification_of(change, meta), related_request_id=number)
    finally:
        watch.close()
    return SubscriptionsListenResult(_meta=meta)


async def _subscribe_if_there(watch: Watch, asked: McpMessage, uri: str) -> None:
    """Watch a resource; one that can't be read is left out, and the acknowledgement shows that."""
    try:
        await subscribe(watch, asked.groups, uri)
    except InvalidCredential:
        raise
    except ServiceError as error:
        if error.http_code >= 500:
            raise


def notification_of(change: Change, meta: dict[str, Any] | None = None) -> "ServerNotification":
    """Return the notification of a change."""
    from mcp_types import (  # noqa: PLC0415
        NotificationParams,
        PromptListChangedNotification,
        ResourceListChangedNotification,
        ResourceUpdatedNotification,
        ResourceUpdatedNotificationParams,
    )

    if change == RESOURCES:
        return ResourceListChangedNotification(params=NotificationParams(_meta=meta))
    if change == PROMPTS:
        return PromptListChangedNotification(params=NotificationParams(_meta=meta))
    return ResourceUpdatedNotification(params=ResourceUpdatedNotificationParams(uri=change.uri, _meta=meta))
