"""Format names and numbers for reports; sentences are in sentences.j2."""

from idemnet.tasks import get_task, task_names
from idemnet.tasks.task import Words

NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 8: "eight", 10: "ten"}


def task_words(task: str) -> Words:
    """Return a task's words; an unknown task's images are called degraded and clean."""
    if task in task_names():
        return get_task(task).words
    return Words(task, "degraded", "clean")


def dataset_title(dataset: str) -> str:
    """Return the display name of a data set, or of several (`gopro_third + scenes`)."""
    names = {
        "builtin": "built-in scenes",
        "starter": "a thousand scenes",
        "gopro": "GoPro",
        "gopro_third": "a third of GoPro",
        "scenes": "rendered scenes",
        "filmed": "real frames at 240 fps",
    }
    return ", ".join(names.get(one, one) for one in dataset.split(" + "))


def signed(value: float, digits: int = 2) -> str:
    """Format a difference with its sign, with a typographic minus."""
    text = f"{value:+.{digits}f}"
    if float(text) == 0:
        return text[1:]
    return text.replace("-", "\N{MINUS SIGN}")


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def in_words(number: int) -> str:
    """Spell out small numbers."""
    return NUMBERS.get(number, str(number))
