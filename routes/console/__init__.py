"""The web console: its page and files, its session in a cookie, and its watch for changes."""
