# SPDX-License-Identifier: GPL-2.0-or-later
"""What rounds of measurements say, in each of which all were measured shortly one after the other."""

import statistics


def ratio_quartiles(ours, theirs):
    """Lower quartile, median and upper quartile of the rounds' own ratios: what drifts from round to round is in neither."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    if len(ratios) == 1:
        return ratios * 3
    return statistics.quantiles(ratios, n=4, method="inclusive")
