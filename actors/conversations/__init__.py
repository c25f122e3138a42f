"""Conversations: the messages that a user and an agent exchange, in order."""
