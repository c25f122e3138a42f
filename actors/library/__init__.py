"""Library: the skills and documents of one user."""
