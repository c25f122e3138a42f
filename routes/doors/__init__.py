"""The frame of the open protocols: routes with errors, bodies and streams in shapes of their own."""
