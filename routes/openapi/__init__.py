"""The OpenAPI document, built from COMMANDS and the gateway routes."""
