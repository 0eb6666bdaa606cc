"""Make the README's screenshots: MLflow's page with the two latest runs, and the page of the app.

`python -m docs.make_screenshots`, after two trainings; with `app WEIGHTS` behind it, those of the
app, with weights to compare.
"""

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from mlflow import MlflowClient
from PIL import Image

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
        wait_for(f"{address}/health")
        query = f"runs={json.dumps(runs)}&experiments={json.dumps([place])}"
        page.open(f"{address}/#/compare-runs?{query}", 1300, 1100)
        time.sleep(8)  # it loads by itself, piece by piece
        page.shot(ROOT / "docs/mlflow_comparison.png")
    finally:
        server.terminate()
        server.wait()


def photograph_app(page: Page, compare: str) -> None:
    server = subprocess.Popen(  # noqa: S603
        [Path(sys.executable).with_name("idemnet"), "app", f"--port={PORT}", "--compare", compare],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{PORT}"
        wait_for(address)
        for width, name in ((1100, "app.png"), (360, "app_phone.png")):
            page.open(address, width)
            page.wait_for("document.querySelector('#samples img')?.complete")
            page.run("document.querySelector('#samples button').click()")
            page.wait_for("document.querySelector('#preview img') !== null")
            page.run("document.querySelector('#restore').click()")
            page.wait_for("document.querySelector('#curve img')?.complete")
            page.run("document.activeElement.blur()")
            time.sleep(2)  # things fade in
            page.picture(ROOT / "docs" / name)
            shrink_picture(ROOT / "docs" / name)
    finally:
        server.terminate()
        server.wait()


def shrink_picture(path: Path) -> None:
    """Keep 256 colours, which a page has hardly more of, for a third of the bytes."""
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(256)
    few.save(path, optimize=True)


def wait_for(address: str) -> None:
    for _ in range(240):
        try:
            urllib.request.urlopen(address).close()  # noqa: S310
        except OSError:
            time.sleep(0.5)
        else:
            return
    raise TimeoutError(address)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, start_browser(Path(folder)) as page:
        if sys.argv[1:2] == ["app"]:
            photograph_app(page, sys.argv[2])
        else:
            photograph_comparison(page)


if __name__ == "__main__":
    main()
