"""``python -m hdeeprm_like`` is ``hdeeprm-like``."""

import sys

from hdeeprm_like.cli.main import main

sys.exit(main())
