"""The card of tests: PyTorch on the processor, or with ``pytest --device cuda`` a GPU, by the same tests."""

import os
from typing import Any

from ssgp._utils.devices import WITHOUT_GPU
from ssgp.engine.on_card.cards import find_card

VARIABLE = "SSGP_TEST_DEVICE"
DEVICE = os.environ.get(VARIABLE, WITHOUT_GPU)
CARD: Any = find_card(DEVICE)
