"""Definition of a study: cells to train and evaluate, and how to show their scores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.study import StudyParameters, merge
from idemnet.parameters.train import TrainParameters
from idemnet.studies.parts.claims import Claim, ClaimAtEach
from idemnet.studies.parts.paper import PaperTable
from idemnet.studies.parts.results import Cells
from idemnet.studies.parts.tables import StudyTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Cell:
    """A network with its training and evaluation."""

    name: str
    label: str
    """Label in tables."""
    train: Mapping[str, Any] = field(default_factory=dict)
    """Changes to its task's training, nested as in `train`."""
    single_channel: bool = False
    """Evaluate on luma only, as of a thermal camera."""
    after: "Cell | None" = None
    """The cell whose results this one restores."""


@dataclass(frozen=True)
class Study:
    """A study, defined in a file of its name; sizes are in conf/."""

    name: str
    title: str
    task: str
    """Task of its cells."""
    cells: tuple[Cell, ...]
    """In the order of the table."""
    tables: Callable[[Cells], list[StudyTable]]
    figure: "Callable[[Cells, Figure], None]"
    """Draws into an empty figure; must not import matplotlib at module level, which is slow."""
    claims: tuple[Claim | ClaimAtEach, ...] = ()
    paper: PaperTable | None = None
    """The paper's table, also shown in the task's report."""
    order: int = 99
    """Position on the page: the number of the paper's table; others come last."""
    evaluate: Mapping[str, Any] = field(default_factory=dict)
    """Changes to its task's evaluation, apart from sizes."""
    test_set: str | None = None
    """Test-only data set to use instead of the task's test images."""
    sequences_apart: bool = False
    """Score every test sequence separately; with several test sets, each is one sequence."""
    detailed: bool = False
    """Whether the figure shows the images measured in detail."""

    def chosen(self, sizes: StudyParameters) -> tuple[Cell, ...]:
        """Return the cells to run."""
        names = sizes.of(self.name).cells
        return tuple(cell for cell in self.cells if names is None or cell.name in names)

    def apart(self, sizes: StudyParameters) -> bool:
        """Return whether sequences are scored separately."""
        asked = sizes.of(self.name).sequences_apart
        return self.sequences_apart if asked is None else asked

    def training(
        self, cell: Cell, seed: int, sizes: StudyParameters, task: TrainParameters
    ) -> TrainParameters:
        """Return a cell's training: its task's, with changes by sizes and cell."""
        settings = {**task.model_dump(mode="json"), "network": task.network.model_dump(mode="json")}
        of_study, of_cell = sizes.of(self.name), sizes.of_cell(cell.name)
        for changes in (sizes.train, of_study.train, cell.train, of_cell.train):
            settings = merge(settings, changes)
        return TrainParameters.model_validate({**settings, "seed": seed})

    def evaluation(self, sizes: StudyParameters, task: EvaluateParameters) -> EvaluateParameters:
        """Return the evaluation of the cells."""
        settings = task.model_dump(mode="json")
        for changes in (sizes.evaluate, self.evaluate, sizes.of(self.name).evaluate):
            settings = merge(settings, changes)
        return EvaluateParameters.model_validate(settings)
