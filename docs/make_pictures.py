"""Make the pictures of the README from prepared data: `python docs/make_pictures.py`."""

from pathlib import Path

import numpy as np
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from PIL import Image

ROOT = Path(__file__).parents[1]
SHOWN = (("test", "scene_000"), ("train", "scene_010"), ("train", "scene_009"))


def main() -> None:
    bootstrap_project(ROOT)
    with KedroSession.create(ROOT) as session:
        pairs = session.load_context().catalog.load("deblur.pairs").pairs
    widest = {(p.split, p.sequence): p for p in pairs if p.level == max(q.level for q in pairs)}
    chosen = [widest[key] for key in SHOWN]
    blurred = np.hstack([pair.degraded() for pair in chosen])
    sharp = np.hstack([pair.clean() for pair in chosen])
    gap = np.full((4, blurred.shape[1], 3), 255, np.uint8)
    picture = np.vstack([blurred, gap, sharp])
    Image.fromarray(picture).save(ROOT / "docs/blurred_and_sharp.jpg", quality=90)


if __name__ == "__main__":
    main()
