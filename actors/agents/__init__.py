"""Agents: their records, their states, and their private conversations."""
