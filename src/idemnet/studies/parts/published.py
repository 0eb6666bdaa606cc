"""Anchors: published scores, and what the built-in networks cost at their authors' sizes."""

from idemnet.studies.parts.tables import StudyTable

PUBLISHED = StudyTable(
    head=(
        "published elsewhere",
        "published: parameters",
        "published: GMAC at 256x256",
        "published: GMAC at 1920x1200",
        "published: PSNR on GoPro, dB",
    ),
    rows=(
        ("the paper's network", "3.11 M", "", "", "31.92"),
        ("NAFNet-width32", "17.1 M", "16", "", "32.87"),
        ("MPRNet", "20.1 M", "", "", "32.66"),
        ("MT-RNN", "2.63 M", "", "", "31.15"),
        ("DMPHN", "7.23 M", "", "", "30.25"),
        ("limits of AIM 2025, Efficient Real-World Deblurring", "5 M", "", "200", ""),
    ),
    caption="Published, not measured here: PSNR on all 1,111 test pairs of GoPro, by networks of "
    "full size trained on all of its training pairs; empty: not given. MPRNet, MT-RNN and DMPHN "
    "as in the paper's Table I.",
)
COUNTED = StudyTable(
    head=(
        "at full size",
        "parameters",
        "GMAC at 256x256",
        "GMAC at 1280x720",
        "GMAC at 1920x1200",
    ),
    rows=(
        ("the paper's network (idempotent)", "3,117,411", "155.7", "2,189.5", "5,473.9"),
        ("DMPHN", "7,232,524", "65.1", "916.1", "2,290.3"),
        ("Stack(4)-DMPHN", "21,697,572", "195.4", "2,748.3", "6,870.9"),
        ("MT-RNN", "2,635,523", "144.8", "2,035.8", "5,089.4"),
        ("gated U-shape, as shipped", "2,332,780", "1.5", "20.6", "51.4"),
    ),
    caption="Counted from the layers of the built-in networks with their default arguments, "
    "whatever sizes are trained above.",
)
"""A test counts again."""
