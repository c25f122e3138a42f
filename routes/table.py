"""ROUTES: every gateway route that is declared as data; a group's file holds its own. SCHEMAS: what they refer to."""

from routes import audit, debug, dev, documents, internal, keys, mcp, rules, skills, webhooks

ROUTES = (
    *keys.ROUTES,
    *webhooks.ROUTES,
    *mcp.ROUTES,
    *skills.ROUTES,
    *documents.ROUTES,
    *rules.ROUTES,
    *audit.ROUTES,
    *internal.ROUTES,
    *debug.ROUTES,
    *dev.ROUTES,
)

ROUTE_TAGS = tuple(dict.fromkeys(["Gateway", *(route.tag for route in ROUTES)]))
"""Their groups in the document."""

SCHEMAS = {
    **webhooks.SCHEMAS,
    **mcp.SCHEMAS,
    "Skill": skills.SKILL,
    "IngestedDocument": documents.DOCUMENT,
}
