"""The table of cases: what is measured.

A case's function gets the files of its log and prepares what is not measured (imports, connections, macros); what it returns
is the query, which is. Every query gives a frame sorted by segment whose columns are called as in the report, so that
`summary` can compare the values.
"""

from __future__ import annotations

from functools import partial

from tests.benchmarks import (
    class_cases,
    duckdb_cases,
    growth_cases,
    interval_cases,
    key_cases,
    page_cases,
    peers,
    polars_cases,
    queries,
    start_cases,
)
from tests.benchmarks.case import SAMPLE_ROWS, Case
from tests.benchmarks.layout import N_PARTS

_sql = duckdb_cases.select
_table = partial(duckdb_cases.table, macros=True)
_clusters = partial(_table, cells="\"table\" = 'cells'")
_macros = partial(duckdb_cases.select, macros=True)
_sketch = polars_cases.sketch
_of_classes = class_cases.metrics
_intervals = interval_cases.report
_by_store = partial(interval_cases.report, by="store")
_over, _many = growth_cases.over, growth_cases.report
_weighted = partial(_sketch, weight="weight", thresholds=polars_cases.THRESHOLDS)

CASES = [
    # Binary logs in Polars
    Case("a", "Polars: bare group_by(segment).agg(len, sum, sum)", polars_cases.floor),
    Case("b", "polars_ec: the report", polars_cases.report),
    Case("b/2", "polars_ec: the report on half of the rows", polars_cases.report, parts=N_PARTS // 2),
    Case("b/4", "polars_ec: the report on a quarter of the rows", polars_cases.report, parts=N_PARTS // 4),
    # The log over and over: whether memory levels off, beyond the length of the log itself.
    Case("b*4", "polars_ec: the report on the log four times", polars_cases.report, parts=4 * N_PARTS),
    Case("b*10", "polars_ec: the report on the log ten times", polars_cases.report, parts=10 * N_PARTS),
    Case("a/4", "Polars: the bare group_by on a quarter of the rows", polars_cases.floor, parts=N_PARTS // 4),
    Case("a-m", "Polars: bare group_by(segment, month)", partial(polars_cases.floor, by_month=True)),
    Case("a-c", "Polars: bare group_by(segment, class, bin).agg(len)", polars_cases.cells),
    Case("c", "polars_ec: ten metrics as expressions in one agg", polars_cases.ten_metrics),
    # DuckDB
    Case("d0", "DuckDB: bare count, sum, sum", partial(_sql, sql=queries.FLOOR)),
    Case("d1", "DuckDB: the report's columns by macros", partial(_macros, sql=queries.MACROS)),
    Case("d2", "DuckDB: the same by hand, by class first", partial(_sql, sql=queries.HAND_WRITTEN)),
    Case("d3", "DuckDB: naive SQL without data rules", partial(_sql, sql=queries.NAIVE)),
    Case("d4", "DuckDB: the same by hand, one GROUP BY", partial(_sql, sql=queries.DIRECT)),
    Case("d-r", "DuckDB: ec.report", partial(duckdb_cases.report, interval=False), floor="d0"),
    Case("d-i", "DuckDB: ec.report with intervals", duckdb_cases.report, floor="d0"),
    Case("d-v", "DuckDB: by hand, with variances", partial(_sql, sql=queries.HAND_WRITTEN_WITH_VARIANCES), floor="d0"),
    Case("d-s", "DuckDB: ec.sketch", partial(duckdb_cases.table, sql=queries.SKETCH, macros=True), floor="d-h"),
    Case("d-h", "DuckDB: the sketch by hand", partial(duckdb_cases.table, sql=queries.SKETCH_BY_HAND), floor="d0"),
    # Other libraries
    Case("e", "polarbearings: confusion, P, R, F1, MCC, log loss, Brier", peers.with_polarbearings),
    Case("f", "polars-ds: P, R, F1 (with AUC), MCC, log loss, Brier", peers.with_polars_ds),
    Case("g", "scikit-learn per segment, on a sample", peers.with_scikit_learn, sample=True),
    Case("g-b", "polars_ec: the report on that sample", partial(polars_cases.report, n_rows=SAMPLE_ROWS), sample=True),
    # The sketch
    Case("s", "polars_ec: the sketch by segment", _sketch),
    Case("s-q", "polars_ec: the same, and AUC within a bound", partial(_sketch, evaluated=True)),
    Case("s-5", "polars_ec: the sketch by segment, 5 folds", partial(_sketch, folds=True)),
    Case("s-m", "polars_ec: the sketch by segment and month", partial(_sketch, by_month=True), floor="a-m"),
    Case("s2", "polars_ec: the sketch of two models by segment", partial(_sketch, models=2)),
    Case("s8", "polars_ec: the sketch by segment, resolution 8", partial(_sketch, resolution=8)),
    Case("s*10", "polars_ec: the sketch by segment, the log ten times", _sketch, parts=10 * N_PARTS),
    Case("w-a", "with nulls: bare group_by(segment)", polars_cases.floor, "weighted", "w-a"),
    Case("w-s", "with nulls: the sketch, weights, three thresholds", _weighted, "weighted", "w-a"),
    Case("s-c", "polars-ec report: ten sketches by segment and hour", polars_cases.folder_of_sketches),
    # Ranking metrics
    Case("q", "polars_ec: exact AUC as an expression", polars_cases.exact_auc),
    Case("q8", "polars_ec: eight exact ranking metrics as expressions", partial(polars_cases.exact_auc, others=True)),
    Case("q-d", "DuckDB: exact AUC by macro", partial(_macros, sql=queries.RANKING_MACRO)),
    Case("q-w", "DuckDB: exact AUC by macro, weighted", partial(_macros, sql=queries.WEIGHTED_MACRO)),
    Case("q-d8", "DuckDB: eight exact ranking macros", partial(_macros, sql=queries.RANKING_MACROS)),
    Case("q-b", "DuckDB: AUC of bins by macro", partial(_macros, sql=queries.APPROXIMATE_MACRO)),
    Case("s-e", "polarbearings: exact AUC", peers.exact_auc_by_polarbearings),
    Case("s-f", "polars-ds: exact AUC", peers.exact_auc_by_polars_ds),
    Case("s-d", "DuckDB: exact AUC by windows", partial(_sql, sql=queries.EXACT_AUC)),
    Case("s-g", "scikit-learn per segment: exact AUC, on a sample", peers.exact_auc_by_scikit_learn, sample=True),
    # The page
    Case("p", "polars_ec: the report page of segments and months", page_cases.page, floor="a-m"),
    Case("p-c", "polars_ec: the same, days as clusters", partial(page_cases.page, clustered=True), floor="a-m"),
    # Calibration
    Case("r", "polars_ec: RCL per segment, affine, 5 folds", polars_cases.calibration_loss),
    Case("r16", "polars_ec: the same at resolution 16", partial(polars_cases.calibration_loss, resolution=16)),
    Case(
        "r-b",
        "polars_ec: the same on a sample",
        partial(polars_cases.calibration_loss, n_rows=SAMPLE_ROWS),
        sample=True,
    ),
    Case("r-p", "psrcal per segment: the same, on that sample", peers.calibration_loss_by_psrcal, sample=True),
    Case("r-a", "polars_ec: a calibration applied to all rows", polars_cases.applied),
    # Many classes
    Case("k-a", "K = 10, Polars: bare group_by", partial(polars_cases.floor, score="posteriors"), "classes", "k-a"),
    Case("k-b", "K = 10, polars_ec: the report", class_cases.report, "classes", "k-a"),
    Case("k-c", "K = 10: NEC, NCE, NBS", partial(_of_classes, names=("nec", "nce", "nbs")), "classes", "k-a"),
    Case("k-d0", "K = 10, DuckDB: bare scan of the column", partial(_sql, sql=queries.COLUMN), "classes", "k-d0"),
    Case("k-d", "K = 10, DuckDB: NEC by macro", partial(_macros, sql=queries.CLASSES_MACRO), "classes", "k-d0"),
    Case("k-d3", "K = 10, DuckDB: NEC, NCE, NBS", partial(_macros, sql=queries.CLASSES_MACROS), "classes", "k-d0"),
    Case("h-n", "K = 100, NumPy: the matrix product", class_cases.product, "hundred", "h-n"),
    Case(
        "h-c", "K = 100, NEC of a full matrix", partial(_of_classes, names=("nec",), with_costs=True), "hundred", "h-n"
    ),
    Case("h-a", "K = 100, Polars: bare scan of the column", class_cases.column, "hundred", "h-a"),
    Case("h-e", "K = 100, error rate", partial(_of_classes, names=("error_rate",)), "hundred", "h-a"),
    Case("h-x", "K = 100, NCE", partial(_of_classes, names=("nce",)), "hundred", "h-a"),
    Case("h-b", "K = 100, NBS", partial(_of_classes, names=("nbs",)), "hundred", "h-a"),
    Case("h-m", "K = 100, confusion matrices", partial(_of_classes, names=("confusion",)), "hundred", "h-a"),
    Case("h-d0", "K = 100, DuckDB: bare scan of the column", partial(_sql, sql=queries.COLUMN), "hundred", "h-d0"),
    Case("h-d", "K = 100, DuckDB: weighted F1", partial(_macros, sql=queries.CLASSES_AVERAGE), "hundred", "h-d0"),
    Case("t-n", "K = 1000, NumPy: the matrix product", class_cases.product, "thousand", "t-n"),
    Case(
        "t-c",
        "K = 1000, NEC of a full matrix",
        partial(_of_classes, names=("nec",), with_costs=True),
        "thousand",
        "t-n",
    ),
    # Buckets
    Case("u-a", "5M rows in memory: bare group_by(segment)", key_cases.floor, "keys", "u-a", runs=3),
    *(
        Case(f"u-{short}", f"bucket, {what}", partial(key_cases.bucket, key=key), "keys", "u-a", runs=3)
        for short, key, what in (
            ("i", "integer", "integers"),
            ("s", "few", "5,000 strings"),
            ("l", "many", "500,000 strings"),
        )
    ),
    Case("u-di", "bucket, integers, in DuckDB", partial(duckdb_cases.bucket, key="integer"), "keys", "u-a"),
    Case("u-dl", "bucket, 500,000 strings, in DuckDB", partial(duckdb_cases.bucket, key="many"), "keys", "u-a"),
    # Intervals, and comparisons
    Case("b-i", "polars_ec: the report with intervals, independent rows", _intervals, floor="b"),
    Case("b-i*10", "polars_ec: the same on the log ten times", _intervals, parts=10 * N_PARTS),
    Case("v-b", "with keys: the report", partial(_intervals, interval=False), "clustered", "v-b"),
    Case("v-r", "with intervals, independent rows", _intervals, "clustered", "v-b"),
    Case("v-i", "with intervals, clusters by an integer", partial(_intervals, cluster="user"), "clustered", "v-b"),
    Case("v-t", "with intervals, clusters by a string", partial(_intervals, cluster="account"), "clustered", "v-b"),
    Case(
        "v-i*10",
        "clusters by an integer, the log ten times",
        partial(_intervals, cluster="user"),
        "clustered",
        "v-b",
        10 * N_PARTS,
    ),
    Case("v-q", "DuckDB: ec.report", partial(duckdb_cases.report, interval=False), "clustered", "v-q"),
    Case("v-qi", "DuckDB: clusters by an integer", partial(duckdb_cases.report, cluster="user"), "clustered", "v-q"),
    Case("v-m", "by 5,000 stores: the report", partial(_by_store, interval=False), "clustered", "v-m"),
    Case("v-mr", "by 5,000 stores: with intervals", _by_store, "clustered", "v-m"),
    Case("v-mi", "by 5,000 stores: clusters by an integer", partial(_by_store, cluster="user"), "clustered", "v-m"),
    Case("v-k", "with keys: the sketch by segment", interval_cases.sketch, "clustered", "v-b"),
    Case(
        "v-ki", "the sketch, clusters by an integer", partial(interval_cases.sketch, cluster="user"), "clustered", "v-k"
    ),
    Case(
        "v-kt",
        "the sketch, clusters by a string",
        partial(interval_cases.sketch, cluster="account"),
        "clustered",
        "v-k",
    ),
    Case("v-d", "DuckDB: ec.sketch", partial(_table, sql=queries.SKETCH), "clustered", "v-d"),
    Case(
        "v-di",
        "DuckDB: ec.sketch, clusters by an integer",
        partial(_clusters, sql=queries.SKETCH_BY_USER),
        "clustered",
        "v-d",
    ),
    Case(
        "v-dt",
        "DuckDB: ec.sketch, clusters by a string",
        partial(_clusters, sql=queries.SKETCH_BY_ACCOUNT),
        "clustered",
        "v-d",
    ),
    Case("v-e", "intervals of ten metrics, from a sketch with clusters", interval_cases.evaluated, "clustered", "v-e"),
    Case(
        "v-l", "RCL with its interval, from a sketch with clusters", interval_cases.calibration_loss, "clustered", "v-l"
    ),
    Case("v-2", "two models in a report", partial(interval_cases.models, compared=False), "clustered", "v-2"),
    Case("v-c", "two models compared", partial(interval_cases.models, compared=True), "clustered", "v-2"),
    Case("v-f", "drift of 12 months with a mix of 16 strata", interval_cases.drift, "clustered", "v-b"),
    Case(
        "v-fi", "the drift, clusters by an integer", partial(interval_cases.drift, cluster="user"), "clustered", "v-b"
    ),
    # Before anything is computed
    Case("i", "import polars_ec, after polars", start_cases.imported, runs=5),
    Case("i-r", "ec.register in memory", duckdb_cases.register, runs=3),
    Case("i-2", "ec.register again", partial(duckdb_cases.register, again=True), runs=3),
    Case("i-d", "DuckDB: to plan NEC of moved posteriors", duckdb_cases.plan, runs=3),
    Case("i-q", "DuckDB: to plan a report", partial(duckdb_cases.plan, query=queries.REPORT_OF_TEN), runs=3),
    Case("i-k", "K = 1000: to plan NEC, NCE, error rate", class_cases.plan, "thousand", runs=3),
    Case("i-l", "the same of a List", partial(class_cases.plan, as_list=True), "thousand", runs=3),
    # What would grow faster than its rows
    Case("x-4", "K = 4, 10,000 rows: NEC over four groups", partial(_over, n_classes=4), floor="x-4", parts=1),
    Case("x-5", "K = 5: the same", partial(_over, n_classes=5), floor="x-4", parts=1),
    Case("x-j", "the sketch job of 40 files", partial(growth_cases.sketch_job, again=False), floor="x-j"),
    Case("x-ja", "the job again, with nothing to do", partial(growth_cases.sketch_job, again=True), floor="x-j"),
    Case("x-w", "windows of 28 days, of 14 groups in a quarter", growth_cases.windows, floor="x-w", parts=1),
    Case("x-e", "100 rows: ECE of LLRs in 100 bins", growth_cases.bins, floor="x-e", parts=1, runs=3),
    Case("x-a", "K = 3, 1M rows: NEC of an Array", partial(growth_cases.vectors, as_list=False), floor="x-a", parts=1),
    Case("x-l", "K = 3: NEC of a List", partial(growth_cases.vectors, as_list=True), floor="x-a", parts=1),
    Case(
        "x-d", "K = 3: decisions, one is to abstain", partial(growth_cases.abstain, decided=True), floor="x-d", parts=1
    ),
    Case("x-m", "K = 3: three metrics of them", partial(growth_cases.abstain, decided=False), floor="x-d", parts=1),
    Case("x-h", "DuckDB, 1M groups: by hand", partial(growth_cases.groups_in_duckdb, by_hand=True), floor="x-h"),
    Case("x-r", "DuckDB, 1M groups: ec.report", partial(growth_cases.groups_in_duckdb, by_hand=False), floor="x-h"),
    Case("x-b", "5,000 groups against the best", growth_cases.best, floor="x-b", parts=1),
    Case("x-c", "5,000 groups: ECE with its interval", growth_cases.ece_interval, floor="x-c", parts=1),
    Case("x-s", "200 groups: AUC by the bootstrap", growth_cases.bootstrap, floor="x-s", parts=1),
    Case(
        "x-n", "200,000 groups: the report", partial(_many, n_groups=200_000, rows_per_group=10), floor="x-n", parts=1
    ),
    Case(
        "x-i",
        "200,000 groups: with intervals",
        partial(_many, n_groups=200_000, rows_per_group=10, interval=0.95),
        floor="x-n",
        parts=1,
    ),
    Case(
        "x-i3",
        "200,000 groups of three classes: with intervals",
        partial(_many, n_groups=200_000, rows_per_group=10, n_classes=3, interval=0.95),
        floor="x-n",
        parts=1,
    ),
    # As many rows as fit no memory: the log fifty times
    Case(
        "a*50",
        "Polars: the bare group_by, fifty times",
        polars_cases.floor,
        "binary",
        "a*50",
        50 * N_PARTS,
        on_request=True,
    ),
    Case(
        "b*50",
        "polars_ec: the report, fifty times",
        polars_cases.report,
        "binary",
        "a*50",
        50 * N_PARTS,
        on_request=True,
    ),
    Case("s*50", "polars_ec: the sketch, fifty times", _sketch, "binary", "a*50", 50 * N_PARTS, on_request=True),
    Case(
        "r*50",
        "polars_ec: RCL, 5 folds, fifty times",
        polars_cases.calibration_loss,
        "binary",
        "a*50",
        50 * N_PARTS,
        on_request=True,
    ),
]
