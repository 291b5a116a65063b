"""``python -m dfannotate``."""

import sys

from dfannotate.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
