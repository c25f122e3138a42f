"""The gateway routes under /api and /debug."""
