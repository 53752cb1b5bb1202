"""The dbt macros write what ec.report_query writes, in nine dialects; and what they refuse."""

from __future__ import annotations

import math
import random
import re
from typing import Any, get_args

import duckdb
import pytest

import polars_ec as ec
from polars_ec.output.dialects import WarehouseDialect
from sql.generate import dbt_macros
from tests.support.dbt_calls import macro_call, shape
from tests.support.dbt_text import FOLDER, CompileError, package
from tests.support.report_queries import CASES, COSTS_OF_ROWS, ReportCase, check, make_log
from tests.support.slow import mostly_slow

DIALECTS = get_args(WarehouseDialect)
EVERY = [(case, dialect) for case in [*CASES, *COSTS_OF_ROWS] for dialect in DIALECTS]
# Every dialect, and half of the cases.
QUICK = [(case, dialect) for case, dialect in zip(CASES[::2], DIALECTS, strict=True)]
QUICK += [(COSTS_OF_ROWS[2], "snowflake")]


@pytest.mark.quick(
    "usual-bigquery",
    "weighted-clickhouse",
    "month-databricks",
    "llr-snowflake",
    "decision-trino",
    "costs_of_rows_llr-snowflake",
)
@pytest.mark.parametrize(
    ("case", "dialect"), mostly_slow(EVERY, QUICK), ids=lambda value: getattr(value, "name", value)
)
def test_the_text_is_that_of_the_report_query(case: ReportCase, dialect: str) -> None:
    assert shape(macro_call(case, dialect), dialect) == shape(case.query(dialect), dialect)


@pytest.mark.parametrize("dialect", mostly_slow(DIALECTS, ["bigquery", "snowflake"]))
def test_names_and_labels_that_need_quotes(dialect: str) -> None:
    quoted = package(dialect).sql_name("my col")
    arguments: dict[str, Any] = {"by": {'a"b` c': quoted, "ec_n": "x"}, "pos_label": "it's\\ late", "cost_fp": 1e-40}
    text = package(dialect).report("log", quoted, "ec_text_0", **arguments)
    wanted = ec.report_query("log", quoted, "ec_text_0", dialect=dialect, **arguments)
    assert shape(text, dialect) == shape(wanted, dialect)


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.quick("classes", "llr_threshold")
@pytest.mark.parametrize("case", mostly_slow([*CASES, *COSTS_OF_ROWS], CASES[1::4]), ids=lambda case: case.name)
def test_plain_sql_in_duckdb(case: ReportCase) -> None:
    log = make_log()
    check(case, log, duckdb.sql(macro_call(case, "duckdb")).pl())


def test_what_is_generated_is_current() -> None:
    assert dbt_macros.FILE.read_text("utf-8") == dbt_macros.text()


def test_logarithms_are_those_of_python() -> None:
    rng = random.Random(1)
    values = [
        1.0,
        0.5,
        5e-324,
        1.7976931348623157e308,
        math.nextafter(1, 0),
        math.nextafter(1, 2),
        *(10 ** rng.uniform(-300, 300) for _ in range(20)),
    ]
    values += [rng.random() for _ in range(20)]
    for value in values:
        assert package("duckdb").natural_log(value) == pytest.approx(math.log(value), rel=2.3e-16, abs=0)


BAD_CALLS: list[tuple[dict[str, Any], str]] = [
    ({"relation": ""}, "relation='' is not a table"),
    ({"relation": None}, "relation=None is not a table"),
    ({"score": " "}, "score=' ' is not a name or"),
    ({"label": None}, "label=None is not a name or"),
    ({"weight": 3}, "weight=3 is not a name or"),
    ({"score_type": "raw"}, "score_type='raw' is none of posterior"),
    ({"score_type": "llr"}, "score_type='llr' needs prior"),
    ({"score_type": "llr", "threshold": 0.5}, "score_type='llr' needs prior"),
    ({"score_type": "decision", "threshold": 0.5}, "has decisions already"),
    ({"score_type": "decision", "metrics": ["nce"]}, "'nce', which needs posteriors"),
    ({"metrics": ["bayes_risk"], "threshold": 0.5}, "'bayes_risk', which uses Bayes decisions"),
    ({"metrics": ["precison"]}, "'precison', which is not a metric of this report"),
    ({"metrics": ["auc_roc"]}, "make a sketch"),
    ({"metrics": "nec"}, "metrics='nec' is not a list of names: pass ['nec']"),
    ({"metrics": []}, "is empty: leave it out"),
    ({"metrics": ["nec", "nec"]}, "'nec' twice"),
    ({"metrics": ["n"]}, "every report has"),
    ({"prior": "overall"}, "prior='overall' is not a prior in numbers"),
    ({"prior": "0.2"}, "prior='0.2' is not a prior in numbers"),
    ({"prior": True}, "prior=True is not a prior"),
    ({"prior": 1.5}, "prior=1.5: 1.5 is not a share"),
    ({"prior": math.nan}, "prior=nan: nan is not a share"),
    ({"prior": [0.2, 0.3, 0.5]}, "has 3 shares"),
    ({"prior": [0.2, 0.3]}, "sums to 0.5, not 1"),
    ({"prior": {"no": 0.2, "yes": 0.8}}, "is not a prior in numbers"),
    ({"cost_fn": -1}, "cost_fn=-1 is not a cost"),
    ({"cost_fn": "5"}, "cost_fn='5' is not a numbe"),
    ({"cost_fp": math.inf}, "cost_fp=inf is not a cost"),
    ({"cost_fp": math.nan}, "cost_fp=nan is not a numbe"),
    ({"cost_fp": True}, "cost_fp=True is not a numbe"),
    ({"cost_fp": None}, "cost_fp=None is not a numbe"),
    ({"threshold": "limit"}, "threshold='limit' is not a numbe"),
    (
        {"threshold": "1e3"},
        "a text is what YAML takes 1e3 for: in YAML write a dot and the sign of the exponent, 1000.0 or 1.0e+3",
    ),
    ({"threshold": math.nan}, "threshold=nan is not a numbe"),
    ({"by": ["NEC"]}, "'NEC', which is also a column of the report"),
    ({"by": ["nec_at_prior"], "prior": 0.5}, "'nec_at_prior', which is also a column of the report"),
    ({"by": ["a", "A"]}, "'A' twice"),
    ({"by": ["month(ts)"]}, "'month(ts)', which is not a column's name"),
    ({"by": [3]}, "by has 3, which is not a column's name"),
    ({"by": {" ": "a"}}, "by has ' ' for a name"),
    ({"by": {"a": ""}}, "by['a']='' is not a name"),
    ({"by": 3}, "by=3 is not a list"),
    ({"classes": [0, 1, 2]}, "is not a list of two labels"),
    ({"classes": "ab"}, "classes='ab' is not a list of two labels"),
    ({"classes": [1, 1]}, "has 1 twice"),
    ({"classes": [None, 1]}, "classes holds None, which is not a string"),
    ({"pos_label": 1, "classes": [0, 1]}, "not both"),
    ({"pos_label": math.inf}, "pos_label holds inf, which"),
    ({"interval": "0.95"}, "interval='0.95' is not a numbe"),
    ({"interval": 95}, "interval=95.0 is not between 0 and 1"),
    ({"cluster": "user"}, "cluster='user' is for intervals"),
    ({"total": True}, "without groups there is only one"),
    ({"total": "yes", "by": ["a"]}, "total='yes' is not true or false"),
    ({"min_rows": 2.5}, "min_rows=2.5 is not a whole number from 0 on"),
    ({"interval": 0.9, "cluster": "u", "buckets": 1}, "buckets=1 is not a whole number from 2"),
]


@pytest.mark.parametrize(("wrong", "message"), BAD_CALLS)
def test_bad_calls_are_compile_errors(wrong: dict[str, Any], message: str) -> None:
    for of_duckdb in (False, True):
        with pytest.raises(CompileError, match=re.escape(message)):
            package("duckdb", of_duckdb).report(**{"relation": "log", "score": "p", "label": "y", **wrong})


@pytest.mark.parametrize(
    ("dialect", "wrong", "message"),
    [
        ("snowflake", {"by": ["a"], "total": True}, "total=true needs DuckDB"),
        ("postgres", {"prior": 1e-60}, "prior=1e-60: products with it"),
        ("redshift", {"cost_fp": 1e60}, r"cost_fp=1e\+60: products with it"),
    ],
)
def test_what_only_some_warehouses_have(dialect: str, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        package(dialect).report("log", "p", "y", **wrong)


@pytest.mark.parametrize(
    ("macros_found", "message"),
    [
        ((0, False), "no macro ec.report: put 'plugins: [{module: polars_ec.dbt}]' into the profile"),
        (
            (0, False),
            "polars_ec_macros: false}' into dbt_project.yml: plain SQL, which has all but cluster= and total=true",
        ),
        ((1, True), "attach the database under another alias"),
    ],
)
def test_duckdb_without_the_macros(macros_found: tuple[int, bool], message: str) -> None:
    with pytest.raises(CompileError, match=re.escape(message)):
        package("duckdb", macros_of_duckdb=True, macros_found=macros_found).report("log", "p", "y")


LOG_OF_THREE = "(VALUES (0.9, true), (0.6, false), (0.1, false)) AS t(p, y)"


@pytest.mark.parametrize("version", ["2.0.0-preview.219", "2.1.0"])
@pytest.mark.parametrize("macro", ["report", "sketch"])
def test_fusion_gets_plain_sql_and_a_warning(macro: str, version: str) -> None:
    """Where dbt is of version 2, which runs no plugin, unless the macros are there all the same."""
    call = (LOG_OF_THREE, "p", "y")
    plain, by_macros = (getattr(package("duckdb", of_duckdb), macro)(*call) for of_duckdb in (False, True))
    assert "FROM ec." in by_macros
    fusion = package("duckdb", True, (0, False), dbt_version=version)
    message = rf"dbt {re.escape(version)} does not run the plugin .* no macro ec\.{macro}: this is plain SQL, which .*polars_ec_macros: false"
    with pytest.warns(UserWarning, match=message):
        text = getattr(fusion, macro)(*call)
    assert text == plain
    assert getattr(package("duckdb", True, dbt_version=version), macro)(*call) == by_macros
    assert getattr(package("duckdb", False, (0, False), dbt_version=version), macro)(*call) == plain
    # To parse, dbt opens no connection.
    assert getattr(package("duckdb", True, (0, False), dbt_version=version, execute=False), macro)(*call) == by_macros


def test_what_fusion_computes_is_right_and_what_it_lacks_is_an_error() -> None:
    fusion = package("duckdb", True, (0, False), dbt_version="2.0.0")
    with pytest.warns(UserWarning, match="plain SQL"):
        query = fusion.report(LOG_OF_THREE, "p", "y", metrics=["accuracy", "recall"])
    assert duckdb.sql(query).pl().select("n", "accuracy", "recall").row(0) == (3, pytest.approx(2 / 3), 1.0)
    for lacking in ({"interval": 0.9, "cluster": "user"}, {"by": ["a"], "total": True}):
        with (
            pytest.warns(UserWarning, match="plain SQL"),
            pytest.raises(CompileError, match=r"needs? DuckDB with the macros"),
        ):
            fusion.report("log", "p", "y", **lacking)


@pytest.mark.parametrize("dialect", ["duckdb", "snowflake"])
@pytest.mark.parametrize(
    "arguments", [{"score_type": "llr", "prior": 0.3}, {"score_type": "log_odds"}, {"interval": 0.95}], ids=str
)
def test_what_fusion_cannot_compute_is_an_error(dialect: str, arguments: dict[str, Any]) -> None:
    assert package(dialect).report("log", "p", "y", **arguments)
    with pytest.raises(CompileError, match=r"which dbt 2\.0\.0 \(Fusion\) lacks: run dbt Core 1"):
        package(dialect, dbt_version="2.0.0").report("log", "p", "y", **arguments)
    call = {"prior": 0.2, "cost_fn": 5}
    assert package(dialect, dbt_version="2.0.0").report("log", "p", "y", **call)


def test_what_plain_sql_on_duckdb_lacks_is_what_the_error_says() -> None:
    """All arguments of the report and of the sketch are tried."""
    call = {"relation": "log", "score": "p", "label": "y"}
    values = {
        "cost_fn": 2,
        "cost_fp": 2,
        "threshold": 0.5,
        "prior": 0.2,
        "score_type": "percent",
        "weight": "w",
        "pos_label": 1,
    }
    values |= {"classes": [0, 1], "by": ["a"], "metrics": ["nec"], "min_rows": 2, "interval": 0.9}
    for name, value in values.items():
        assert package("duckdb").report(**call, **{name: value}).startswith("WITH")
    for lacking in ({"interval": 0.9, "cluster": "user"}, {"by": ["a"], "total": True}):
        with pytest.raises(CompileError, match=r"needs? DuckDB with the macros"):
            package("duckdb").report(**call, **lacking)
    assert package("duckdb").sketch(**call, cluster="user", buckets=7)
    with pytest.raises(CompileError, match="plain SQL, which has all of it"):
        package("duckdb", macros_of_duckdb=True, macros_found=(0, False)).sketch(**call)


SIGNATURE = re.compile(r"{%-? *(macro|test) (\w+)\(\s*(.*?)\s*\) *-?%}", re.DOTALL)
PUBLIC = {
    ("test_" if kind == "test" else "") + name: re.findall(r"(\w+)(?:=(?:\[\]|'\w*'|\w+))?(?:,|$)", arguments)
    for path in FOLDER.rglob("*.sql")
    for kind, name, arguments in SIGNATURE.findall(path.read_text("utf-8"))
    if kind == "test" or name in ("report", "sketch")
}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_misspelt_argument_lists_the_arguments(name: str) -> None:
    assert len(PUBLIC) == 6
    # dbt passes the model to a test, and nobody writes it.
    arguments = [argument for argument in PUBLIC[name] if argument != "model"]
    with pytest.raises(
        CompileError, match=rf"^polars_ec: {name.removeprefix('test_')} has no argument treshold: "
    ) as error:
        getattr(package("postgres"), name)("log", "p", "y", treshold=0.5)
    listed = str(error.value).split("its arguments are ")[1].split(", ")
    assert sorted(listed) == sorted(arguments)


def test_every_public_macro_is_described() -> None:
    text = (FOLDER / "macros.yml").read_text("utf-8")
    described: dict[str, list[str]] = {}
    for indent, name, about in re.findall(r'^( *)- name: (\w+)\n +description: "(.*)"$', text, re.MULTILINE):
        assert about.endswith(".")
        if len(indent) == 2:
            described[name] = arguments = []
        else:
            arguments.append(name)
    assert text.count("- name:") == text.count("description:") == sum(map(len, described.values())) + len(described)
    assert {name: sorted(arguments) for name, arguments in described.items()} == {
        name: sorted(arguments) for name, arguments in PUBLIC.items()
    }
    readme = (FOLDER.parent / "README.md").read_text("utf-8")
    assert all(f"polars_ec.{name.removeprefix('test_')}" in readme for name in PUBLIC)
    version = re.search(r"^version: (.*)$", (FOLDER.parent / "dbt_project.yml").read_text("utf-8"), re.MULTILINE)[1]
    assert f"\n## {version} " in (FOLDER.parent / "CHANGELOG.md").read_text("utf-8")


def test_adapters_that_take_the_text_of_another() -> None:
    call = {"relation": "log", "score": "p", "label": "y", "weight": "w", "prior": 0, "cost_fn": 0}
    assert package("redshift").report(**call) == package("postgres").report(**call)
    assert package("databricks").report(**call) == package("spark").report(**call)


def test_small_groups_without_intervals() -> None:
    query = package("duckdb").report(
        "(VALUES ('a', 0.5, true), ('b', 0.4, true), ('b', 0.2, false)) AS t(g, p, y)", "p", "y", by="g", min_rows=2
    )
    assert duckdb.sql(query).order("g").pl().select("g", "n", "small").rows() == [("a", 1, True), ("b", 2, False)]
