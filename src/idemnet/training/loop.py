"""The training loop: from the last checkpoint to the end."""

import logging
import math
import time

import torch
from torch import Tensor, nn

from idemnet.models import iterate
from idemnet.parameters.train import TrainParameters
from idemnet.steps.services import RunJournal
from idemnet.system.progress import count_items
from idemnet.training.interruption import SAVED, Interruption, stop
from idemnet.training.job import TrainingJob
from idemnet.training.loader import Batch, Waiting, open_loader
from idemnet.training.loss import idempotent_loss, temporal_loss
from idemnet.training.pending import NORM, PendingUpdates, Update
from idemnet.training.process_group import ProcessGroup, gradient_exchange
from idemnet.training.schedule import learning_rate, passes_in
from idemnet.training.state import State
from idemnet.training.validation import selection_score, show_sample, validate, validate_images

logger = logging.getLogger(__name__)

LOG_STEPS = 10
COLLAPSED = 0.05
"""Grey levels (of 255) that the first pass changes on average, below which it is the identity."""


def train(
    job: TrainingJob, state: State, processes: ProcessGroup, journal: RunJournal | None
) -> None:
    """Train from the current step to the last; the result is the last checkpoint."""
    parameters = job.parameters
    objective = processes.share(Objective(state.model, parameters), compiled=parameters.compile)
    loader = open_loader(job, state.step, processes.rank, processes.size)
    title = f"training {job.task}"
    logged_step, logged_at = state.step, time.monotonic()
    next_save = logged_at + 60 * parameters.checkpoint_minutes
    pending = PendingUpdates(job.device, scaled=state.scaler.is_enabled())
    values: dict[str, float] = {}
    with Interruption() as interruption, count_items(title, job.steps, state.step) as advance:
        waiting = Waiting(loader)
        for batch in waiting:
            epoch = state.step // job.steps_per_epoch
            rate = learning_rate(parameters, state.step, job.steps_per_epoch)
            for group in state.optimiser.param_groups:
                group["lr"] = rate
            update(objective, state, batch, job, pending)
            state.step += 1
            logs, ends = state.step % LOG_STEPS == 0, state.step % job.steps_per_epoch == 0
            if logs or ends:
                values = note(state, pending, processes)
            advance(1, _describe(epoch, parameters.epochs, values) + waiting.note())
            if journal and logs:
                samples = (state.step - logged_step) * parameters.batch_size
                speed = samples / (time.monotonic() - logged_at)
                logged_step, logged_at = state.step, time.monotonic()
                more = {"learning_rate": rate, "samples_per_second": speed}
                journal.log(state.step, {f"step/{k}": v for k, v in {**values, **more}.items()})
            if ends:
                end_epoch(job, state, processes, journal)
            last = state.step == job.steps
            signal, over, due = processes.highest(
                [interruption.asked, time.time() > job.deadline, time.monotonic() > next_save]
            )
            if last or signal or over or due or state.step % parameters.checkpoint_steps == 0:
                note(state, pending, processes)
                if journal:
                    journal.flush()
                if processes.is_local_main and not job.joins:
                    job.save_checkpoint(state.step, state.to_checkpoint())
                next_save = time.monotonic() + 60 * parameters.checkpoint_minutes
            if signal or (over and not last):
                if processes.is_main_process:
                    logger.warning("%s%s", "" if signal else "time_limit_minutes reached, ", SAVED)
                processes.highest([0])  # none leaves before all have saved: launchers end the rest
                stop(signal)


class Objective(nn.Module):
    """Network and loss as one module, so that all passes are one forward to DDP and compile."""

    def __init__(self, model: nn.Module, parameters: TrainParameters) -> None:
        super().__init__()
        self.model, self.settings = model, parameters

    def forward(self, degraded: Tensor, clean: Tensor, passes: int) -> dict[str, Tensor]:
        if not self.settings.temporal_supervision:
            return self._compare(degraded, clean, passes)
        iterations = iterate(self.model, degraded)
        losses = self._compare(degraded, clean[:, -1], passes, iterations[-1])
        steps = temporal_loss(iterations[:-1], clean[:, :-1])
        return losses | {"temporal": steps, "total": losses["total"] + steps}

    def _compare(
        self, degraded: Tensor, clean: Tensor, passes: int, first: Tensor | None = None
    ) -> dict[str, Tensor]:
        return idempotent_loss(
            self.model,
            degraded,
            clean,
            passes=passes,
            alphas=self.settings.alphas,
            idempotence_weight=self.settings.idempotence_weight,
            detach_between_passes=self.settings.detach_between_passes,
            first=first,
        )


def update(
    objective: nn.Module, state: State, batch: Batch, job: TrainingJob, pending: PendingUpdates
) -> None:
    """Make one update of the weights, or none if the loss or its gradient is not finite.

    Nothing here waits for the device: losses and gradient norm are pending.
    """
    parameters, epoch = job.parameters, state.step // job.steps_per_epoch
    passes, parts = passes_in(parameters, epoch), parameters.accumulation_steps
    sums: dict[str, Tensor] = {}
    images = [part.to(job.device, non_blocking=True).chunk(parts) for part in batch[:2]]
    for number, (degraded, clean) in enumerate(zip(*images, strict=True), 1):
        with gradient_exchange(objective, now=number == parts):
            with autocast(job):
                losses = objective(degraded, clean, passes)
            loss = pending.guard(losses["total"] / parts)
            torch.autograd.backward(state.scaler.scale(loss))
        for name, value in losses.items():
            sums[name] = sums.get(name, 0) + value.detach() / parts
    state.scaler.unscale_(state.optimiser)
    limit = parameters.gradient_clip or math.inf
    norm = nn.utils.clip_grad_norm_(state.model.parameters(), limit)
    # What fused Adam leaves an update out by, on the device; float16's scaler sets its own.
    state.optimiser.found_inf = (~norm.isfinite()).float()  # type: ignore[attr-defined]
    state.scaler.step(state.optimiser)
    state.scaler.update()
    state.optimiser.zero_grad(set_to_none=True)
    if state.ema:
        state.ema.update_parameters(state.model)
    pending.add(Update(epoch, state.step, batch[2], {**sums, NORM: norm}))


def note(state: State, pending: PendingUpdates, processes: ProcessGroup) -> dict[str, float]:
    """Add what is pending to the epoch's sums; return the last update's numbers, if any."""
    values: dict[str, float] = {}
    for values in pending.read(processes):
        state.note({name: value for name, value in values.items() if name != NORM})
    return values


def autocast(job: TrainingJob) -> torch.autocast:
    """Return a context that computes in mixed precision, where that is asked for."""
    return torch.autocast(job.device, job.dtype, enabled=job.dtype != torch.float32)


def end_epoch(
    job: TrainingJob, state: State, processes: ProcessGroup, journal: RunJournal | None
) -> None:
    """Take the epoch's means, validate when it is time, and keep the best weights."""
    parameters = job.parameters
    epoch = state.step // job.steps_per_epoch - 1
    means = state.end_epoch(epoch, job.steps_per_epoch)
    if 255 * means["residual"] < COLLAPSED:
        means["collapsed"] = 1.0
        logger.warning(
            "epoch %d: the first pass changes %.3f of 255 grey levels: the network has collapsed "
            "to the identity, which is idempotent without restoring anything",
            epoch,
            255 * means["residual"],
        )
    last = state.step == job.steps
    if processes.is_local_main and (last or (epoch + 1) % parameters.validation_epochs == 0):
        result = state.result.eval()
        scores = validate(result, job.patches, parameters.validation_patches, job.device)
        means |= {f"validation/{name}": value for name, value in scores.items()}
        # Weights are chosen among those trained with all passes: before, repeating is not learnt.
        joined = epoch >= parameters.single_pass_epochs or last
        best = selection_score(state.best["scores"], parameters.passes) if state.best else -math.inf
        if joined and selection_score(scores, parameters.passes) > best:
            weights = {name: value.clone() for name, value in result.state_dict().items()}
            state.best = {"weights": weights, "scores": scores, "epoch": epoch}
        if journal:
            for name, image in show_sample(result, job.patches, job.device).items():
                journal.image(state.step, name, image)
        result.train()
    epochs = parameters.validation_image_epochs
    if processes.is_local_main and job.images and (last or (epoch + 1) % epochs == 0):
        scores = validate_images(state.result.eval(), job.images, job.device)
        means |= {f"validation/{name}": value for name, value in scores.items()}
        state.result.train()
    state.history[-1] = means
    if journal:
        journal.log(state.step, {f"epoch/{k}": v for k, v in means.items() if k != "epoch"})


def _describe(epoch: int, epochs: int, values: dict[str, float]) -> str:
    left_out = ("total", "residual", NORM)
    parts = " ".join(f"{k} {v:.4f}" for k, v in values.items() if k not in left_out)
    return f"epoch {epoch + 1}/{epochs} {parts}"
