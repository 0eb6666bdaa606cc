"""What the budget study says about its curves follows from the numbers."""

from idemnet.studies.budget import describe_collapsed, describe_trend


def test_curves_that_approach_meet_where_a_line_through_the_differences_reaches_zero():
    said = describe_trend({100: (0.1, -0.04), 1000: (0.2, -0.03), 10_000: (0.4, -0.02)})
    assert "\N{MINUS SIGN}0.040 dB at 100 updates" in said
    assert "\N{MINUS SIGN}40%, \N{MINUS SIGN}15%, \N{MINUS SIGN}5%" in said
    assert "reaches zero at about 1,000,000 updates (extrapolated from 3 lengths" in said


def test_no_crossing_is_extrapolated_from_curves_that_part_or_hardly_approach():
    parting = describe_trend({100: (0.1, -0.02), 1000: (0.2, -0.03)})
    assert parting.endswith("no number of updates can be extrapolated at which they would meet.")
    slow = describe_trend({100: (0.1, -0.0300), 1000: (0.2, -0.0299)})
    assert "too slowly" in slow


def test_a_measured_crossing_is_not_extrapolated():
    said = describe_trend({100: (-0.1, -0.02), 1000: (0.2, 0.03)})
    assert said.endswith("The curves cross between 100 and 1,000 updates.")
    assert "%" not in said  # there is no share of a loss
    assert "ahead at every length" in describe_trend({100: (0.1, 0.1), 1000: (0.2, 0.1)})


def test_one_length_has_no_trend():
    assert describe_trend({100: (0.1, 0.1)}).startswith("No trend can be seen")


def test_lengths_that_collapsed_are_named():
    assert describe_collapsed([]) == ""
    assert "at 316 and 632 updates" in describe_collapsed([316, 632])
