"""Webhooks: event types, endpoints, and the dispatcher that delivers events."""
