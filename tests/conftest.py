"""Every test runs with the verifiers on: after each stage the compiler checks what it made."""

import os

os.environ.setdefault("FRIT_CHECK", "1")
