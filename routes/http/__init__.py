"""HTTP for all routes: heads, bodies, addresses, answers, errors, metrics and the access log."""
