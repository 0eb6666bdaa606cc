"""The tasks, one file each: to add one, add its file here and its parameters to conf/base."""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idemnet.tasks.task import Task


def task_names() -> tuple[str, ...]:
    """Return the names of all tasks; imports none of them, so that `idemnet --help` is quick."""
    return tuple(sorted(found.name for found in iter_modules(__path__) if found.name != "task"))


def get_task(name: str) -> "Task":
    """Import one task."""
    task: Task = import_module(f"{__name__}.{name}").TASK
    return task


def all_tasks() -> "dict[str, Task]":
    """Import every task."""
    return {name: get_task(name) for name in task_names()}
