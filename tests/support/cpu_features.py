"""Which features of this CPU NumPy takes its own code for: `NPY_DISABLE_CPU_FEATURES=$(python -m tests.cpu_features)`.

Without them NumPy computes logarithms and the like by other code, whose last digits differ, as on another CPU.
"""

from __future__ import annotations

import contextlib
import io
import re

import numpy as np


def found() -> list[str]:
    """What `numpy.show_runtime` lists as found; it is the public way to ask."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        np.show_runtime()
    listed = re.search(r"'found': \[(.*?)\]", text.getvalue(), re.DOTALL)
    assert listed is not None, f"numpy.show_runtime() lists no CPU features: {text.getvalue()}"
    return re.findall(r"'(\w+)'", listed[1])


if __name__ == "__main__":
    print(" ".join(found()))
