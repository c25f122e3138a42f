"""ROUTES: every gateway route that is declared as data; a group's file holds its own. SCHEMAS: what they refer to."""

from routes import audit, internal, keys, mcp, webhooks

ROUTES = (*keys.ROUTES, *webhooks.ROUTES, *mcp.ROUTES, *audit.ROUTES, *internal.ROUTES)

ROUTE_TAGS = tuple(dict.fromkeys(["Gateway", *(route.tag for route in ROUTES)]))
"""Their groups in the document."""

SCHEMAS = {**webhooks.SCHEMAS}
