"""What one step hands to the next: results described, not yet computed."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
"""(height, width, 3), RGB, 0-255."""

LazyImage = Callable[[], Image]
