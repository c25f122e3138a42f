"""The A2A 1.0 door: agents' cards, and each agent through JSON-RPC and HTTP+JSON (docs/a2a.md)."""
