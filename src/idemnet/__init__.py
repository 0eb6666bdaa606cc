"""Image restoration networks whose second pass changes nothing."""

__version__ = "0.1.0"
