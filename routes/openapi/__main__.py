"""Check or renew the committed document: `python -m routes.openapi --check`."""

import sys

from routes.openapi.document import main

if __name__ == "__main__":
    sys.exit(main())
