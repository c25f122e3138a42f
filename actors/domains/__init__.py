"""Domains: workspaces of agents, with members, zones and streams."""
