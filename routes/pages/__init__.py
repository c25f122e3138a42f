"""Pages: health, documentation and the welcome page."""
