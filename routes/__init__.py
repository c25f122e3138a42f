"""HTTP only: turn requests into calls of the core, and its answers and errors into responses."""
