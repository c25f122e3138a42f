"""HTTP, and nothing else: from requests to the core's calls, and from its answers and errors to responses."""
