"""`python -m parley_client` is `parley`."""

from parley_client.cli.main import main

main()
