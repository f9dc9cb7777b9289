"""``python -m hdeeprm_like`` is ``hdeeprm-like``."""

import sys

from hdeeprm_like.cli import main

sys.exit(main())
