"""Idempotency: commands that carry a key run once, and repeats get the first answer."""
