"""python -m suture"""

import sys

from suture.cli import main

if __name__ == "__main__":
    sys.exit(main())
