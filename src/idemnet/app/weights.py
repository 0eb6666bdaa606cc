"""Describe weights and their limits on the page."""

from collections.abc import Collection
from html import escape
from typing import Any

from idemnet.imaging.metrics import gain
from idemnet.inference.restorer import Restorer
from idemnet.reporting.formatting import dataset_title, signed, task_words
from idemnet.tasks import task_names


def describe_weights(restorer: Restorer) -> str:
    """Describe the weights in use by their card."""
    card = restorer.card
    dataset = card.get("dataset")
    facts = {
        "Task": task_words(card["task"]).title.lower(),
        "Network": f"{card['architecture']}, {card['parameters']:,} parameters",
        "Trained on": dataset_title(dataset) if dataset else "",
        "Constraint": _constraint(card),
        "PSNR on its validation patches": _scores(card),
    }
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(fact)}</dd></div>"
        for name, fact in facts.items()
        if fact
    )
    caution = (
        '<p class="notice">These weights are a starter, trained on one CPU core: expect a modest '
        "change, not a new picture.</p>"
        if card.get("command", "").startswith("kedro run --env=starter")
        else ""
    )
    return f"<h2>Weights in use</h2>{caution}<dl>{rows}</dl>"


def _constraint(card: Any) -> str:
    weight = card.get("training", {}).get("idempotence_weight")
    if weight is None:
        return ""
    return f"idempotence, weight {weight:g}" if weight else "none: changes may add up over passes"


def _scores(card: Any) -> str:
    scores = card.get("validation")
    if not scores:
        return ""
    before, after, third = (scores[name] for name in ("psnr_input", "psnr", "psnr_3"))
    return (
        f"{before:.2f} → {after:.2f} dB ({signed(gain(before, after))}), "
        f"after three passes {third:.2f} dB"
    )


def describe_missing(there: Collection[str]) -> str | None:
    """Describe how to get weights for the other tasks."""
    missing = [task for task in task_names() if task not in there]
    if not missing:
        return None
    return f"For {' or '.join(missing)}, train first: kedro run --pipeline=train_{missing[0]}"


def name_curve(restorer: Restorer, *, compared: bool) -> str:
    """Return a label that distinguishes the two curves."""
    weight = restorer.card.get("training", {}).get("idempotence_weight")
    words = "" if weight is None else ", with constraint" if weight else ", without constraint"
    return ("compared" if compared else "in use") + words
