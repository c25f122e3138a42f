"""Egress: the addresses that the gateway may call, and the HTTP clients that keep to them."""
