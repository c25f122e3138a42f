"""The OpenAPI document, built from the command table and the routes."""
