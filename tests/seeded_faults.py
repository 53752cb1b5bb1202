"""Do the tests catch faults? Each of some thirty is put into a copy of the sources, and the tests named for it must fail.

Run as `python -m tests.seeded_faults` (`make test-faults`); words after it choose the faults whose names hold one of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("polars_ec", "sql", "tests", "pyproject.toml")


@dataclass(frozen=True)
class Fault:
    """What is wrong, by which text instead of which, and the tests that are there to see it."""

    name: str
    old: str
    new: str
    tests: tuple[str, ...]


FAULTS = [
    Fault(
        "a score at the threshold is decided positive",
        "positive=scores.score > threshold)",
        "positive=scores.score >= threshold)",
        ("tests/metrics/test_rows.py::test_a_score_at_the_threshold_is_decided_negative",),
    ),
    Fault(
        "misses for false alarms in precision",
        "self.hits + self.alarms",
        "self.hits + self.misses",
        ("tests/papers/test_calibrated_metrics.py",),
    ),
    Fault(
        "losses without their weight",
        "otherwise(loss * self.weight)",
        "otherwise(loss)",
        ("tests/metrics/test_properties.py::test_a_missing_row_may_have_any_weight",),
    ),
    Fault(
        "a bound of auc_roc half as wide as it must be",
        ".sum() / 2 / all_pairs",
        ".sum() / 4 / all_pairs",
        ("tests/metrics/test_ranking.py::test_bounds_hold_for_the_best_and_the_worst_order_within_cells",),
    ),
    Fault(
        "scores in the bin above theirs",
        "(position * resolution).floor()",
        "((position * resolution).floor() + 1)",
        ("tests/cells/test_sketches.py::test_cells_against_numpy",),
    ),
    Fault(
        "the largest of a cost is its best",
        "best = value.min() if",
        "best = value.max() if",
        ("tests/cells/test_curves.py::test_the_best_threshold_of_every_metric_is_the_better_one",),
    ),
    Fault(
        "the data's prior where another is stated",
        "term(self.prior[i], self.rate(i, decided))",
        "term(self.empirical_prior[i], self.rate(i, decided))",
        ("tests/papers/test_calibrated_metrics.py",),
    ),
    Fault(
        "the naive Brier score is not a mean over the classes",
        "largest * others) / number",
        "largest * others)",
        ("tests/papers/test_posteriors.py::test_naive_posteriors",),
    ),
    Fault("cllr in nats", "/ math.log(2))", ")", ("tests/metrics/test_golden.py::test_made_cllr",)),
    Fault(
        "a fold among the rows that its calibrator is trained on",
        "others[fold] += after",
        "others[fold] += after + by_fold[fold]",
        ("tests/calibration/test_fits.py::test_every_group_and_fold_is_the_fit_of_its_own_rows",),
    ),
    Fault(
        "sketches of other thresholds are added up",
        "check_same(what, own, other.grid.common.get(what))",
        "check_same(what, own, own)",
        ("tests/cells/test_sketches.py::test_what_cannot_be_added_up",),
    ),
    Fault(
        "a missing row counts as a wrong one",
        "return self.present & ~self._valid",
        "return (~self._valid).fill_null(True)",
        ("tests/metrics/test_properties.py::test_a_missing_row_may_have_any_weight",),
    ),
    Fault(
        "the macros take a miss for a false alarm",
        "WHEN positive THEN 0e0 ELSE CAST(cost_fn AS DOUBLE) END",
        "WHEN positive THEN 0e0 ELSE CAST(cost_fp AS DOUBLE) END",
        ("tests/metrics/test_rows.py::test_binary_decisions_and_costs",),
    ),
    Fault(
        "of decisions that cost the same the last is taken",
        "pl.concat_arr(_expected(q, costs)).arr.arg_min()",
        "(costs.n_decisions - 1 - pl.concat_arr(_expected(q, costs)[::-1]).arr.arg_min().cast(pl.Int32))",
        ("tests/metrics/test_rows.py::test_a_tie_goes_to_the_lowest_index",),
    ),
    Fault(
        "in sums the last of decisions that cost the same is taken",
        "values[j] < x if k < j else values[j] <= x",
        "values[j] <= x if k < j else values[j] < x",
        ("tests/metrics/test_vectors.py::test_ties_go_to_the_lowest_decision",),
    ),
    Fault(
        "steps of PAV with equal shares are not pooled",
        "dy[:-1] * dx[1:] <= dy[1:] * dx[:-1]",
        "dy[:-1] * dx[1:] < dy[1:] * dx[:-1]",
        ("tests/metrics/test_ranking.py::test_hull_is_the_smallest_concave_curve",),
    ),
    Fault(
        "the calibration error of norm 2 is left squared",
        "total if norm == 1 else total.sqrt()",
        "total",
        ("tests/metrics/test_calibration_error.py::test_missing_and_wrong_rows",),
    ),
    Fault(
        "the hull of a ROC curve does not begin at the origin",
        "points = np.zeros((2, int(number.sum())))",
        "points = np.ones((2, int(number.sum())))",
        ("tests/metrics/test_ranking.py::test_raw_scores",),
    ),
    Fault(
        "isotonic regression falls where it must rise",
        "fp[place], tp[place] =",
        "tp[place], fp[place] =",
        ("tests/calibration/test_step_functions.py::test_infinite_scores_have_steps_of_their_own",),
    ),
    Fault(
        "commas within quotes are taken for separators of CSV",
        "between_quotes[is_open::2]",
        "between_quotes",
        ("tests/cli/test_inputs.py::test_ragged_rows_are_refused",),
    ),
    Fault(
        "days begin at midnight in Greenwich",
        "convert_time_zone(self.zone or DEFAULT_ZONE)",
        "convert_time_zone(DEFAULT_ZONE)",
        ("tests/cli/test_time_zones.py::test_the_same_instants_give_the_same_report",),
    ),
    Fault(
        "the variance within a class is by n, not by n - 1",
        "* rows / (rows - 1)",
        "* rows / rows",
        ("tests/test_intervals.py::test_limits_are_those_of_influence_values",),
    ),
    Fault(
        "rows without a cluster are in a bucket together",
        "self.bucket = self._rows[BUCKET].fill_null(n_buckets).to_numpy()",
        "self.bucket = self._rows[BUCKET].fill_null(0).to_numpy()",
        ("tests/test_intervals.py::test_a_row_without_a_cluster_is_one_of_its_own",),
    ),
    Fault(
        "a pair is taken for two logs in a row",
        "cluster_influence(weight, sums[0] - sums[1], weight",
        "cluster_influence(weight, sums[0] + sums[1], weight",
        ("tests/test_compare.py::test_pairs_against_a_bootstrap",),
    ),
    Fault(
        "p-values are not adjusted",
        "(p[order] * times)[::-1]",
        "p[order][::-1]",
        ("tests/test_compare.py::test_p_values_are_adjusted_for_the_groups",),
    ),
    Fault(
        "every set of factors that changed before counts alike, however many orders have it",
        "return 1 / (number * comb(number - 1, before))",
        "return 1 / 2 ** (number - 1)",
        ("tests/test_drift.py::test_parts_are_those_of_rows_that_count_as_shares_say",),
    ),
    Fault(
        "clusters on both sides of a difference count as if it were a sum",
        "((self.shared - other.shared) ** 2)",
        "((self.shared + other.shared) ** 2)",
        ("tests/test_drift_sketch.py::test_limits_of_windows_that_share_days_are_those_of_a_bootstrap",),
    ),
    Fault(
        "a window takes a period too early in place of one of its own",
        "_with_earlier(total, values, covered)",
        "_with_earlier(total, values, covered + 1)",
        ("tests/cells/test_windows.py::test_metrics_of_a_window_are_those_of_its_rows",),
    ),
    Fault(
        "nulls trip gates that were not asked to",
        "                if self.on_null:\n",
        "                if True:\n",
        ("tests/cli/test_gates.py::test_what_trips_is_what_the_operator_says",),
    ),
    Fault(
        "a gate that judged nothing passes where nulls must trip",
        "any(verdict.tripped or (self.on_null and verdict.is_blind) for verdict in verdicts)",
        "any(verdict.tripped for verdict in verdicts)",
        ("tests/cli/test_gates.py::test_an_empty_log_is_no_pass",),
    ),
    Fault(
        "the limits of the report macro take the variance within a class by n",
        "ec._within(i, mean) * ec._ratio(rows_, rows_ - 1)",
        "ec._within(i, mean)",
        ("tests/sql/test_report_macro.py::test_numbers_by_hand",),
    ),
    Fault(
        "the stated prior of a report query is that of the other class",
        "return (shares[0], shares[1]) if isinstance(shares, tuple) else None",
        "return (shares[1], shares[0]) if isinstance(shares, tuple) else None",
        ("tests/sql/test_report_query.py::test_duckdb",),
    ),
    Fault(
        "the rest of a chart is its last group alone",
        "pooled = groups.with_columns(group=pl.when(own)",
        "pooled = groups.with_columns(group=pl.when(own | (pl.int_range(pl.len()) < pl.len() - 1))",
        ("tests/plotting/test_curves.py::test_of_many_groups_the_largest_the_worst_and_the_rest_as_one",),
    ),
    Fault(
        "the best groups of a chart are taken for its worst",
        "known.sort(column, descending=lower",
        "known.sort(column, descending=not lower",
        ("tests/plotting/test_curves.py::test_of_many_groups_the_largest_the_worst_and_the_rest_as_one",),
    ),
    Fault(
        "the limits of a band have changed places",
        'f"{column}_ci_low": "low", f"{column}_ci_high": "high"',
        'f"{column}_ci_low": "high", f"{column}_ci_high": "low"',
        ("tests/plotting/test_curves.py::test_points_are_those_of_the_table_and_the_line_is_within_a_pixel",),
    ),
    Fault(
        "the data of a page may close their element",
        'for character in "<>&',
        'for character in ">&',
        ("tests/page/test_render.py::test_names_close_no_element_and_make_none",),
    ),
    Fault(
        "a page names groups as if each were the only one",
        "wrong = (1 - level) * number / n_groups",
        "wrong = 1 - level",
        ("tests/page/test_significance.py::test_groups_are_those_of_benjamini_and_hochberg",),
    ),
]


def sources(root: Path) -> list[Path]:
    """The modules, and the macros as they are loaded: faults name no file, so that moving a formula leaves them valid."""
    return [*sorted((root / "polars_ec").rglob("*.py")), root / "sql" / "polars_ec.sql"]


def place_of(fault: Fault, root: Path) -> Path:
    """The one file that holds the old text, once; ValueError that names the places where it does not."""
    counts = {file: file.read_text("utf-8").count(fault.old) for file in sources(root)}
    places = {str(file.relative_to(root)): n for file, n in counts.items() if n}
    if sum(places.values()) != 1:
        raise ValueError(f"fault {fault.name!r}: {fault.old!r} must be in one place, and is in {places or 'none'}")
    return root / next(iter(places))


def failed(tests: set[str], root: Path) -> bool:
    """Whether one of the tests fails in this tree; RuntimeError if they cannot be run."""
    path = os.pathsep.join([str(root), str(root / "polars_ec" / "command")])
    # No bytecode: a fault and its mending may have one size and one second.
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    run = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", *sorted(tests)]
    result = subprocess.run(run, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if result.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(sorted(tests))}\n{result.stdout}{result.stderr}")
    return result.returncode == 1


def main(words: list[str]) -> int:
    """Print what becomes of each fault; 1 unless all are caught."""
    chosen = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    n_missed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, root / name)
        places = [place_of(fault, root) for fault in chosen]
        if failed({test for fault in chosen for test in fault.tests}, root):
            raise RuntimeError("a test that is named for a fault fails without it")
        for fault, place in zip(chosen, places, strict=True):
            right = place.read_text("utf-8")
            place.write_text(right.replace(fault.old, fault.new), "utf-8")
            start = time.monotonic()
            caught = failed(set(fault.tests), root)
            place.write_text(right, "utf-8")
            n_missed += not caught
            verdict = "caught" if caught else "MISSED"
            print(f"{verdict}  {time.monotonic() - start:4.1f} s  {place.relative_to(root)}: {fault.name}", flush=True)
    print(f"{len(chosen) - n_missed} of {len(chosen)} faults are caught")
    return int(n_missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
