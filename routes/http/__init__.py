"""HTTP: heads, bodies, addresses, answers, errors and the access log, for every route alike."""
