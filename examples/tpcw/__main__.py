"""`python -m examples.tpcw`."""

import sys

from examples.tpcw.run import main

sys.exit(main())
