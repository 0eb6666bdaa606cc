"""Run the jobs of a pipeline on the cluster that the parameters name."""

from contextlib import ExitStack

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl

from idemnet.parameters.cluster import ClusterParameters


class ClusterHooks:
    """Runs jobs where parameter `cluster` says, from the beginning of a run to its end."""

    def __init__(self) -> None:
        self._context: KedroContext | None = None
        self._cluster = ExitStack()

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        self._context = context

    @hook_impl
    def before_pipeline_run(self) -> None:
        assert self._context
        self._cluster.close()  # of a run of this process that was stopped by a signal
        given = self._context.config_loader["parameters"].get("cluster", {})
        parameters = ClusterParameters.model_validate(given)
        if parameters.scheduler or parameters.local:
            from idemnet.storage.cluster import jobs_on  # noqa: PLC0415  # most runs need none

            self._cluster.enter_context(jobs_on(parameters))

    @hook_impl
    def after_pipeline_run(self) -> None:
        self._cluster.close()

    @hook_impl(tryfirst=True)
    def on_pipeline_error(self) -> None:
        self._cluster.close()
