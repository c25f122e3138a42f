"""Several nodes as one gateway: where each actor lives, and how nodes reach each other (docs/architecture.md)."""
