"""The report in words: what the figures mean, said so that nobody needs to know what a dB is."""

from collections.abc import Mapping, Sequence
from typing import Any

from idemnet.tasks import get_task, task_names
from idemnet.tasks.task import Words

IDENTITY = 0.1
"""A network that changes pixels by less than this (of 255) on average gives back its input."""
NOTICEABLE, SMALL = 0.1, 0.5
"""Gains in dB below which nothing, or little, is to be seen."""
STABLE = 0.05
"""A loss in dB over all passes that no eye and hardly a table shows."""
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 8: "eight", 10: "ten"}


def words_of(task: str) -> Words:
    """Return a task's words; weights of an unknown one are described as degraded and clean."""
    if task in task_names():
        return get_task(task).words
    return Words(task, "degraded", "clean")


def name_of(dataset: str) -> str:
    """Call a data set what people call it."""
    names = {
        "builtin": "built-in scenes",
        "starter": "a thousand scenes",
        "gopro": "GoPro",
        "gopro_third": "a third of GoPro's training pairs",
    }
    return names.get(dataset, dataset)


def signed(value: float, digits: int = 2) -> str:
    """Write a difference with its sign; a minus is as wide as a plus."""
    text = f"{value:+.{digits}f}"
    if float(text) == 0:
        return text[1:]
    return text.replace("-", "\N{MINUS SIGN}")


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def passes(number: int) -> str:
    return f"{NUMBERS.get(number, str(number))} passes"


def gain_of(metrics: Mapping[str, Any]) -> float:
    """Return the gain in dB: the mean over images of the differences."""
    return float(metrics["restored"]["psnr"] - metrics["input"]["psnr"])


def loss_of(metrics: Mapping[str, Any]) -> float:
    """Return what repeating costs, in dB, from the first pass to the last."""
    curve = metrics["repeat"]["psnr"]
    return float(curve[0] - curve[-1])


def describe(metrics: Mapping[str, Any], gains: Sequence[float]) -> list[str]:
    """Describe what the headline scores mean, without making them better than they are."""
    return [_describe_gain(metrics, gains), _describe_repeating(metrics)]


def is_identity(metrics: Mapping[str, Any]) -> bool:
    return bool(metrics["iterations"]["first"]["sum"][-1] < IDENTITY)


def _describe_gain(metrics: Mapping[str, Any], gains: Sequence[float]) -> str:
    words, gain = words_of(metrics["task"]), gain_of(metrics)
    better = sum(one > 0 for one in gains)
    among = f"{better:,} of {count(len(gains), 'image')} came closer to the {words.clean} one"
    if is_identity(metrics):
        change = metrics["iterations"]["first"]["sum"][-1]
        return (
            f"The network has collapsed to the identity: it changes pixels by {change:.3f} of 255 "
            f"on average and gives back the {words.degraded} image it was given ({among})."
        )
    if gain < -NOTICEABLE:
        return f"Restoring made the images worse, by {-gain:.2f} dB on average; {among}."
    if abs(gain) < NOTICEABLE:
        return (
            f"Restoring changed next to nothing: {signed(gain)} dB on average is not to be seen by "
            f"eye; {among}. This network has learnt too little to be of use."
        )
    less = 1 - 10 ** (-gain / 10)
    size = "a small gain, seen only side by side" if gain < SMALL else "a gain that can be seen"
    return (
        f"Restoring brought the images {gain:.2f} dB closer to the {words.clean} ones, {size} "
        f"(about {less:.0%} less squared error); {among}."
    )


def _describe_repeating(metrics: Mapping[str, Any]) -> str:
    loss, gain = loss_of(metrics), gain_of(metrics)
    often = passes(len(metrics["repeat"]["psnr"]))
    if is_identity(metrics):
        return "Repeating it changes nothing either, which is no merit in a network that does none."
    if abs(loss) < STABLE:
        held = f"Restored again and again, {often} in all, they stay as they are ({_lost(loss)})"
        if gain < NOTICEABLE:
            return held + "; with so small a gain there is not much to lose."
        return held + ": the network is idempotent as far as can be measured here."
    if loss < 0:
        return (
            f"Restored again and again they go on improving, by {-loss:.2f} dB over {often}: the "
            "first pass leaves work undone, so the network is not idempotent."
        )
    more = ", more than the first pass gained" if loss > gain else ""
    return (
        f"Restored again and again they lose {loss:.2f} dB over {often}{more}: "
        "the network is not idempotent."
    )


def _lost(loss: float) -> str:
    return f"{signed(-loss, 3)} dB"
