"""ROUTES: every gateway route, joined from the groups' files. SCHEMAS, PARAMETERS: what they refer to."""

from routes.a2a import table as a2a
from routes.ag_ui import door as ag_ui
from routes.console import watch
from routes.gateway import (
    admin,
    audit,
    debug,
    dev,
    documents,
    keys,
    rules,
    runs,
    skills,
    tools,
    webhook_schemas,
    webhooks,
)
from routes.openai_api import table as openai_api

ROUTES = (
    *keys.ROUTES,
    *webhooks.ROUTES,
    *tools.ROUTES,
    *skills.ROUTES,
    *documents.ROUTES,
    *rules.ROUTES,
    *audit.ROUTES,
    *runs.ROUTES,
    watch.ROUTE,
    *admin.ROUTES,
    *debug.ROUTES,
    *dev.ROUTES,
    *a2a.ROUTES,
    *openai_api.ROUTES,
    *ag_ui.ROUTES,
)

ROUTE_TAGS = tuple(dict.fromkeys(["Gateway", *(route.tag for route in ROUTES)]))
"""The tags of their groups in the OpenAPI document."""

PARAMETERS = {**a2a.PARAMETERS, **openai_api.PARAMETERS}
SCHEMAS = {
    **keys.SCHEMAS,
    **webhook_schemas.SCHEMAS,
    **tools.SCHEMAS,
    **runs.SCHEMAS,
    "Skill": skills.SKILL,
    "IngestedDocument": documents.DOCUMENT,
    **admin.SCHEMAS,
    **a2a.SCHEMAS,
    **openai_api.SCHEMAS,
    **ag_ui.SCHEMAS,
}
