"""`python -m parley_client` is `parley`."""

from parley_client.cli.start import main

main()
