"""Six levels of blur on two Dask workers of this machine, against two local processes.

Promise: at least 0.85 of the speed of two processes. Both kinds of workers are there before, with
their libraries loaded: else a round would measure how long processes take to start. Everything else
counts, from sending the jobs to the published folder.
"""

import tempfile
from contextlib import nullcontext
from pathlib import Path

from promise import Promise, report, take_turns
from synthesis import make_sequences, ours

from idemnet.datasets.raw import RawDataset
from idemnet.parameters.cluster import ClusterParameters
from idemnet.parameters.source import SourceParameters
from idemnet.pipelines.download import download
from idemnet.steps.data import RawData
from idemnet.storage.cluster import Cluster
from idemnet.storage.executor import open_processes, workers_from

ROUNDS, FRAMES = 4, 99


def synthesise(raw: RawData, place: Path) -> None:
    with tempfile.TemporaryDirectory(dir=place) as folder:
        ours(raw, Path(folder, "pairs"))


def main() -> None:
    cluster = Cluster(ClusterParameters(local=2))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        frames = make_sequences(place, FRAMES)
        source = {"kind": "folder", "folder": {"path": str(frames)}}
        dataset = RawDataset(str(place / "raw/set"))
        dataset.save(download(SourceParameters.model_validate(source)))
        raw = dataset.load()

        def on_cluster() -> None:
            with workers_from(cluster.open):
                synthesise(raw, place)

        with open_processes(2) as processes:

            def in_processes() -> None:
                with workers_from(lambda _: nullcontext(processes)):
                    synthesise(raw, place)

            take_turns(1, in_processes, on_cluster)  # libraries load
            rows = take_turns(ROUNDS, in_processes, on_cluster)
        cluster.close()
    report(
        Promise(
            "synthesis on two Dask workers of this machine, against two processes: speed",
            [local / dask for local, dask in rows],
            at_least=0.85,
        )
    )


if __name__ == "__main__":
    main()
