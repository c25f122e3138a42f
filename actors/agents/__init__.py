"""Agents: what an agent is, whether it is online, and its private conversations."""
