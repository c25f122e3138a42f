"""ROUTES: every gateway route that is declared as data; a group's file holds its own."""

from routes import internal

ROUTES = (*internal.ROUTES,)
