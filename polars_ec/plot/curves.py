"""Charts of the curves of a sketch.

Of at most 6 groups each has its line, of more the 4 largest, the 2 worst of the others that are not small, and all others added
up. Lines are off by at most half a pixel, and a chart has at most 5,000 rows of data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polars_ec.calibration.parameters import Calibrator
from polars_ec.cells.deciding import DecidingCells
from polars_ec.costs import Costs
from polars_ec.priors import Prior

if TYPE_CHECKING:
    import altair as alt

_PRIOR_LOG_ODDS = tuple(x / 4 for x in range(-28, 29))


def roc(sketch: DecidingCells, *, interval: float | None = 0.95) -> alt.LayerChart:
    """The ROC curve: the true-positive rate over the false-positive rate, for every threshold; the higher the better.

    Parameters
    ----------
    sketch
        A `Sketch` of any scores. Of many groups the worst are those of the least AUC.
    interval
        The level of the band, the limits of each point for itself; None: no band.

    Returns
    -------
    alt.LayerChart of `sketch.roc(interval=)`; the dashed diagonal is of scores that say nothing. Groups that lack a class have no line.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> chart = ec.plot.roc(log.ec.sketch("p", "y"))
    >>> chart.title.text, chart.title.subtitle
    ('ROC curve', ['4 rows', 'Band: 95% limits of each point'])
    """
    from polars_ec.plotting import curves

    return curves.roc(sketch, interval)


def det(sketch: DecidingCells, *, interval: float | None = 0.95) -> alt.LayerChart:
    """The DET curve: the false-negative over the false-positive rate, on normal deviates; the lower the better.

    Scores that are normal in both classes make straight lines. Axes are from where the curves tell something, so a fiftieth of
    the equal error rate at least.

    Parameters
    ----------
    sketch
        A `Sketch` of any scores. Of many groups the worst are those of the highest equal error rate.
    interval
        The level of the band, the limits of each point for itself; None: no band.

    Returns
    -------
    alt.LayerChart of `sketch.det(interval=)`, with rates in percent; the equal error rate is on the dashed diagonal. Rates of 0 and 1,
    which have no place on these axes, are left out: perfect scores have no line.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.

    References
    ----------
    Martin et al., "The DET curve in assessment of detection task performance", 1997.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.det(log.ec.sketch("p", "y")).title.text
    'Detection error trade-off (DET)'
    """
    from polars_ec.plotting import curves

    return curves.det(sketch, interval)


def pr(sketch: DecidingCells, *, prior: Prior = None, interval: float | None = 0.95) -> alt.LayerChart:
    """The precision-recall curve, as the steps that average precision adds up; the higher the better.

    Parameters
    ----------
    sketch
        A `Sketch` of any scores. Of many groups the worst are those of the least average precision.
    prior
        The share of positives to which precision is calibrated, as for `evaluate`; an expression sees the groups of the chart.
        Default: the group's own, so that groups of different shares have different precisions of the same rates.
    interval
        The level of the band, the limits of each point for itself; None: no band.

    Returns
    -------
    alt.LayerChart of `sketch.pr(prior=, interval=)`; where it is the same for all lines, the dashed one is the precision of deciding all
    positive, the prior.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.
    ValueError
        A prior that is none.

    References
    ----------
    Siblini et al., "Master your metrics with calibration", Eq. 5, for calibrated precision.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.pr(log.ec.sketch("p", "y"), prior=0.2).title.text
    'Precision-recall curve'
    """
    from polars_ec.plotting import curves

    return curves.pr(sketch, prior, interval)


def prg(sketch: DecidingCells, *, prior: Prior = None) -> alt.LayerChart:
    """The precision-recall-gain curve, from a recall gain of 0 on; the higher the better.

    Parameters
    ----------
    sketch
        A `Sketch` of any scores. Of many groups the worst are those of the least area under it.
    prior
        As for `pr`.

    Returns
    -------
    alt.LayerChart of `sketch.prg(prior=)`. Gains below 0 are those of decisions worse than to decide all positive, and are cut off.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.
    ValueError
        A prior that is none.

    References
    ----------
    Flach and Kull, "Precision-recall-gain curves", 2015.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.prg(log.ec.sketch("p", "y")).title.text
    'Precision-recall-gain curve'
    """
    from polars_ec.plotting import curves

    return curves.prg(sketch, prior)


def tippett(sketch: DecidingCells) -> alt.LayerChart:
    """Tippett curves: the shares of positives (solid) and of negatives (dashed) above each LLR; the farther apart the better.

    Parameters
    ----------
    sketch
        A `Sketch` of LLRs, or of posteriors or log-odds, which are shown as log-odds. Of many groups the worst are those of the highest
        Cllr, or normalised cross-entropy.

    Returns
    -------
    alt.LayerChart of `sketch.tippett()`, from -15 to 15 at most, straight across a bin; with a mark at an LLR of 0.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.
    SketchError
        Raw scores.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"llr": [2.0, -1.0, 1.5, -2.0], "y": [1, 1, 0, 0]})
    >>> ec.plot.tippett(log.ec.sketch("llr", "y", score_type="llr")).title.text
    'Tippett plot'
    """
    from polars_ec.plotting import thresholds

    return thresholds.tippett(sketch)


def bayes_error(sketch: DecidingCells, prior_log_odds: Sequence[float] = _PRIOR_LOG_ODDS) -> alt.LayerChart:
    """The Bayes error plot: actual (solid) and minimum (dashed) normalised detection cost over priors; the lower the better.

    Parameters
    ----------
    sketch
        A `Sketch` of LLRs. Of many groups the worst are those of the highest Cllr.
    prior_log_odds
        Log-odds of the effective priors; default: from -7 to 7 by 0.25. A sketch that was made with `thresholds=` of -x for all these x has
        exact actual costs; else there is a band of what bins leave open, and the line is its upper end.

    Returns
    -------
    alt.LayerChart of `sketch.bayes_error(prior_log_odds)`; the naive system costs 1 everywhere.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.
    SketchError, ValueError
        Other scores than LLRs; log-odds that are not finite numbers.

    References
    ----------
    Brümmer and de Villiers, "The BOSARIS toolkit", 2013.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"llr": [2.0, -1.0, 1.5, -2.0], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("llr", "y", score_type="llr", thresholds=[-1, 0, 1])
    >>> ec.plot.bayes_error(sketch, [-1, 0, 1]).title.subtitle
    ['4 rows', 'Solid: actual', 'Dashed: minimum, of the best threshold; at 1: naive']
    """
    from polars_ec.plotting import thresholds

    return thresholds.bayes_error(sketch, prior_log_odds)


def cost_curve(
    sketch: DecidingCells,
    *metrics: str,
    costs: Costs | None = None,
    cost_fn: float | None = None,
    cost_fp: float | None = None,
    prior: Prior = None,
    beta: float = 1.0,
    p_t: float | None = None,
    interval: float | None = 0.95,
) -> alt.LayerChart | alt.HConcatChart:
    """Metrics of decisions over the threshold: where it is cheapest to decide, and what another threshold costs.

    Parameters
    ----------
    sketch
        A `Sketch` of any scores. Of many groups the worst are those of the worst value where the sketch decides; of LLRs and raw
        scores those of the least AUC.
    *metrics
        Names of metrics of decisions, as for `evaluate`; default: nec.
    costs, cost_fn, cost_fp, prior, beta, p_t
        As for `evaluate`; costs by default those that the sketch was made for.
    interval
        The level of the band, the limits of each point for itself; None: no band. Counts have none.

    Returns
    -------
    alt.LayerChart of `sketch.cost_curve(...)`, or of several metrics an alt.HConcatChart of them, with marks at the Bayes threshold of
    the costs and at the one that the sketch was made for. A line is flat from one score to the next, and straight across a bin, which
    does not say where in it scores lie. Where a metric has a naive value the dashed line is at it. Normalised costs above 2 are cut off; so are log-odds and LLRs beyond -15 and 15.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.
    SketchError, ValueError
        Another metric; costs or a prior that are none.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.cost_curve(log.ec.sketch("p", "y"), cost_fn=4).title.subtitle
    ['4 rows', 'Costs: a miss 4, a false alarm 1', 'Band: 95% limits of each point', 'Cut off at 2']
    """
    from polars_ec.plotting import thresholds

    keywords = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "prior": prior, "beta": beta, "p_t": p_t}
    return thresholds.cost_curve(sketch, metrics, keywords, interval)


def bayes_risk(sketch: DecidingCells) -> alt.LayerChart:
    """The risk of Bayes decisions over t, of costs 1 / t of a miss and 1 / (1 - t) of a false alarm; the lower the better.

    Parameters
    ----------
    sketch
        A `Sketch` of posteriors or log-odds. Of many groups the worst are those of the highest normalised cross-entropy.

    Returns
    -------
    alt.LayerChart of `sketch.bayes_risk()`, and of the risk between its points; the area below is the cross-entropy. Risks above 2 are
    cut off.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.
    SketchError
        Other scores.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Figure 1.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.bayes_risk(log.ec.sketch("p", "y")).title.subtitle
    ['4 rows', 'The area below is the cross-entropy, in nats']
    """
    from polars_ec.plotting import thresholds

    return thresholds.bayes_risk(sketch)


def reliability(
    sketch: DecidingCells,
    *,
    resolution: int = 2,
    calibrator: Calibrator | None = "pav",
    interval: float | None = 0.95,
) -> alt.VConcatChart:
    """The reliability diagram: the share of positives over the mean posterior of bins; calibrated scores lie on the diagonal.

    Parameters
    ----------
    sketch
        A `Sketch` of posteriors or log-odds. Of many groups the worst are those of the highest normalised cross-entropy.
    resolution
        Bins per nat of log-odds; a divisor of the sketch's own.
    calibrator
        The line is of what it, fitted to these very rows, makes of the posteriors; None: no line.
    interval
        The level of the limits of each share for itself, upright lines with a band; None: none.

    Returns
    -------
    alt.VConcatChart of `sketch.reliability(...)` over the histogram of rows by bin, those of the groups one upon the other.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.
    SketchError, ValueError
        Other scores; another resolution or calibrator.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.4.2, for the calibrators.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> type(ec.plot.reliability(log.ec.sketch("p", "y"))).__name__
    'VConcatChart'
    """
    from polars_ec.plotting import thresholds

    return thresholds.reliability(sketch, resolution, calibrator, interval)
