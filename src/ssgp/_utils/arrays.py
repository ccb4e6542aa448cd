"""Types of arrays, for annotations."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Indices", "Mask"]

Array = NDArray[np.floating]
Indices = NDArray[np.integer]
Mask = NDArray[np.bool_]
