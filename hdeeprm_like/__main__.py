"""``python -m hdeeprm_like`` is ``hdeeprm-like``."""

import sys

from hdeeprm_like.cli.main import main

status = main()
# Where Ctrl-C came while `exec` ran a text, as numba does and torch, `python -m` would end by a signal and not with
# this status, although we have handled it; the next text, even an empty one, makes Python forget that.
exec("")
sys.exit(status)
