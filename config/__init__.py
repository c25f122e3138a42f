"""What the operator sets: the settings, their defaults, and the catalogs of tools and skills."""
