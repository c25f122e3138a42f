"""ROUTES: every route of the A2A door, and SCHEMAS: the schemas that they refer to."""

from routes.a2a import card_routes, rest_routes, rpc_routes

ROUTES = (*card_routes.ROUTES, *rpc_routes.ROUTES, *rest_routes.ROUTES)
SCHEMAS = {**card_routes.SCHEMAS, **rest_routes.SCHEMAS}
