"""The network of the shipped deblurring weights against the paper's.

Promises: it restores 1280x720 at least 10x as fast, in turn, with the same threads and layout, as
`idemnet restore` does in 32 bits; 256x256 takes at most 8 GMAC; it has below 5 M parameters.
"""

from functools import partial

import numpy as np
import torch
from promise import Promise, note, report, take_turns

from idemnet import Restorer
from idemnet.inference.restore import restore
from idemnet.models.cost import count_macs, count_parameters
from idemnet.models.idempotent import IdempotentNet
from idemnet.parameters.network import IdempotentParameters
from idemnet.parameters.restore import RestoreParameters

ROUNDS = 3


def main() -> None:
    ours = Restorer.load("deblur", device="cpu").model
    paper = IdempotentNet(IdempotentParameters(residual_scale=0.01)).eval()
    paper.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    picture = np.random.default_rng(0).integers(0, 256, (720, 1280, 3), np.uint8)
    note("the paper's, ours:")
    how = RestoreParameters()
    works = [partial(restore, model, picture, how, "cpu") for model in (paper, ours)]
    for work in works:
        work()  # what tiles share is measured once
    report(
        Promise(
            "restoring 1280x720 with the shipped weights, against the paper's network: speed",
            [slow / fast for slow, fast in take_turns(ROUNDS, *works)],
            at_least=10,
        ),
        Promise("… GMAC at 256x256", [count_macs(ours, 256, 256) / 1e9], at_most=8, unit=""),
        Promise("… million parameters", [count_parameters(ours) / 1e6], at_most=5, unit=""),
    )


if __name__ == "__main__":
    main()
