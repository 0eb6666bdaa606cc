"""Model card on the Hugging Face Hub: usage, description and scores of weights."""

import re
from collections.abc import Iterator, Mapping
from typing import Any


def write_model_card(card: Mapping[str, Any], repository: str, picture: str | None) -> str:
    """Return a README.md for weights with this card.

    Args:
        card: Card of the weights.
        repository: OWNER/NAME on the Hub.
        picture: File name of a before/after picture, if there is one.
    """
    task = card["task"]
    image = f"![Before and after]({picture})\n\n" if picture else ""
    facts = "".join(f"| {name} | {value} |\n" for name, value in _facts(card))
    scores = "".join(f"| {' | '.join(row)} |\n" for row in _scores(card))
    # A licence of the data is not that of the weights, so `license:` is left to their owner.
    hub = [one for one in card.get("hub", ()) if re.fullmatch(r"[\w.-]+/[\w.-]+", str(one))]
    datasets = f"datasets: [{', '.join(hub)}]\n" if hub else ""
    return f"""---
library_name: idemnet
pipeline_tag: image-to-image
tags: [image-restoration, {task}]
{datasets}---

# {repository.partition("/")[2]}

{image}```bash
idemnet restore photo.jpg --task {task} --weights hf://{repository}
```

```python
from idemnet import Restorer

Restorer.load("hf://{repository}")("photo.jpg").save("restored.png")
```

| | |
|---|---|
{facts}
## Scores

| pictures | protocol | number | PSNR of the input | PSNR |
|---|---|---|---|---|
{scores}{"".join(_repeated(card))}"""


def _facts(card: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "task", card["task"]
    yield "network", f"{card.get('architecture')}, {card.get('parameters', 0):,} parameters"
    for key, name in {
        "data": "data",
        "dataset": "data set",
        "licence": "licence of the data",
        "credit": "credit",
        "command": "trained by",
        "commit": "commit of idemnet",
        "sha256": "sha256 of the weights",
    }.items():
        if card.get(key):
            yield name, str(card[key]).replace("|", "\\|")


def _repeated(card: Mapping[str, Any]) -> Iterator[str]:
    """Return a sentence on each score with a repeat curve."""
    for name, score in card.get("scores", {}).items():
        if curve := score.get("psnr_by_pass"):
            yield (
                f"\nRestored again and again ({name}, {score.get('detailed_images', '?')} images, "
                f"{score.get('chain', '?')} between passes), PSNR after each pass: "
                f"{', '.join(f'{psnr:.2f}' for psnr in curve)} dB.\n"
            )


def _scores(card: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return a row for each scalar score; the validation row says that it selected the weights."""
    scores = {
        f"{name} ({score['dataset']})" if "dataset" in score else name: (
            score.get("protocol", "?"),
            score.get("images", "?"),
            score,
        )
        for name, score in card.get("scores", {}).items()
    }
    scores["validation, by which these weights were chosen"] = (
        "patches",
        card.get("training", {}).get("validation_patches", "?"),
        card.get("validation", {}),
    )
    for name, (protocol, images, score) in scores.items():
        if "psnr" in score and "psnr_input" in score:
            numbers = (f"{score[key]:.2f} dB" for key in ("psnr_input", "psnr"))
            yield name, str(protocol), str(images), *numbers
