"""Clients of the gateway, and the generator of what they share with it."""
