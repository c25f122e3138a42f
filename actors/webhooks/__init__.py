"""Webhooks (product 9): event types, endpoints, and the dispatcher that delivers."""
