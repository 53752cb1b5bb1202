"""Figure 5 of Ferrer and Ramos, "Evaluating posterior probabilities": what its entry has of a sketch, once more of the rows."""

from __future__ import annotations

import pytest

from examples.papers.posteriors import figures
from examples.papers.posteriors.figures import TWO_COUNTS, TWO_VARIANCE
from examples.papers.posteriors.synthetic import log_odds, synthetic

DRAWS = 4000


@pytest.mark.parametrize("system", figures.READ_OFF)
def test_limits_of_rows_are_those_of_the_sketch(system):
    """The figure draws rows from the whole set; were positives and negatives drawn each for themselves, limits would be nearer."""
    _, low, high = figures.nbs(system, DRAWS)
    log = synthetic(TWO_COUNTS, TWO_VARIANCE).select("label", x=log_odds(system))
    of_report = log.ec.report(
        "x", "label", metrics=["nbs"], score_type="log_odds", interval=0.95, method="bootstrap", replicates=DRAWS
    )
    assert of_report.select("nbs_ci_low", "nbs_ci_high").row(0) == pytest.approx((low, high), abs=0.05 * (high - low))
