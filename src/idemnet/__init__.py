"""Image restoration networks whose second pass changes nothing."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idemnet.inference.restorer import Restorer

__all__ = ["Restorer", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import Restorer lazily, because importing torch takes seconds."""
    if name == "Restorer":
        from idemnet.inference.restorer import Restorer  # noqa: PLC0415

        return Restorer
    raise AttributeError(f"module 'idemnet' has no attribute '{name}'")
