"""Egress: which addresses the gateway may call, and the HTTP clients that keep to that."""
