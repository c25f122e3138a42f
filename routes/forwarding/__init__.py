"""Requests that arrive at one node and are carried out by another."""
