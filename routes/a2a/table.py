"""ROUTES: every route of the A2A door; SCHEMAS and PARAMETERS: what they refer to."""

from routes.a2a import card_routes, rest_routes, rpc_routes

PARAMETERS = {"A2AVersion": rpc_routes.VERSION_PARAMETER}
ROUTES = (*card_routes.ROUTES, *rpc_routes.ROUTES, *rest_routes.ROUTES)
SCHEMAS = {**card_routes.SCHEMAS, **rest_routes.SCHEMAS}
