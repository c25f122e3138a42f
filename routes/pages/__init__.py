"""Pages: health, metrics, documentation and the welcome page."""
