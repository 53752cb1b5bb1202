"""How many random examples a property test tries, and which."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

# Few, and always the same, unless the environment asks for more: see `make fuzz`.
EXAMPLES = os.environ.get("EXAMPLES")
PROFILE = settings(
    max_examples=int(EXAMPLES or 4),
    phases=[Phase.explicit, Phase.generate],
    deadline=None,
    derandomize=EXAMPLES is None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
