"""Make the README's screenshot of MLflow's page with the two latest runs side by side.

`python -m docs.make_screenshots`, after two trainings.
"""

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from mlflow import MlflowClient

from tests.browser import Page, start_browser

ROOT = Path(__file__).parents[1]
STORE = f"sqlite:///{ROOT / 'mlflow.db'}"
PORT = 5093


def photograph_comparison(page: Page) -> None:
    client = MlflowClient(STORE)
    place = client.get_experiment_by_name("idemnet-deblur").experiment_id
    evaluated = "metrics.`test/images` > 0"
    runs = [run.info.run_id for run in client.search_runs([place], evaluated, max_results=2)]
    address = f"http://127.0.0.1:{PORT}"
    server = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", STORE, f"--port={PORT}"],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(address)
        query = f"runs={json.dumps(runs)}&experiments={json.dumps([place])}"
        page.open(f"{address}/#/compare-runs?{query}", 1300, 1100)
        time.sleep(8)  # it loads by itself, piece by piece
        page.shot(ROOT / "docs/mlflow_comparison.png")
    finally:
        server.terminate()
        server.wait()


def wait_for(address: str) -> None:
    for _ in range(240):
        try:
            urllib.request.urlopen(f"{address}/health").close()  # noqa: S310
        except OSError:
            time.sleep(0.5)
        else:
            return
    raise TimeoutError(address)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, start_browser(Path(folder)) as page:
        photograph_comparison(page)


if __name__ == "__main__":
    main()
