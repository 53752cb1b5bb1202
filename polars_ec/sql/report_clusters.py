"""Sums over clusters for a report in portable SQL, and the variance that they make: the levels that `report_limits` lacks for independent rows.

The rows of a group are summed by cluster first. What a cluster adds to a metric, as in the jackknife that leaves out one cluster after the
other, is linear in the metric's slopes: see `cluster_influence` in `polars_ec.inference.confidence`. So its square is made of sums, over
clusters, of squares and products of features, which no slope is needed for. The features of a class are centred at their means in it, and
beside them is the weight of the class. A row without a cluster is a cluster of its own: those rows are one unit, with the sums of their squares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

from polars_ec.inference.confidence import FEWEST_CLUSTERS
from polars_ec.output.dialects import Writer
from polars_ec.sql.log_rows import Levels, select
from polars_ec.sql.log_rows import product as bounded_product
from polars_ec.sql.macro_formulas import MacroFormulas, portable

WEIGHT = "weight"
FEATURES = {"decisions": ("positive",), "costs": ("right", "error"), "log_loss": ("log_loss",), "brier": ("brier",)}
"""What rows have beside their weight, by the kind of sums that a metric is of; costs are those of right decisions, if they were errors, or of errors."""
SLOTS = ("1", "2")
"""Names for the features of any kind of sums, in the rows of a metric."""
# Less is rounding.
_ZERO, _CANCELLED = 1e-7, 1e-12

Element = tuple[str, int]
"""A feature of a class."""
Pair = tuple[Element, Element]


def pairs(features: Iterable[str]) -> list[Pair]:
    """The features of both classes, and their weights, each with itself and with those after it."""
    return list(combinations_with_replacement(product((*features, WEIGHT), (0, 1)), 2))


def sum_name(pair: Pair, kind: str = "p") -> str:
    """The sum of a pair over clusters, each with what its features count without it; of the kind "q" as they are."""
    return f"ec_{kind}_{'_'.join(f'{feature}_{i}' for feature, i in pair)}"


def is_within(pair: Pair) -> bool:
    """Whether the pair has a sum of the kind "q": features of one class, or weights."""
    (first, i), (second, j) = pair
    return (i == j and second != WEIGHT) or first == WEIGHT


def pair_sums(features: Iterable[str]) -> dict[str, Pair]:
    """The pairs by the names of their sums."""
    found = pairs(features)
    return {sum_name(pair): pair for pair in found} | {sum_name(pair, "q"): pair for pair in found if is_within(pair)}


def _of_unit(name: str) -> str:
    """A sum of a cluster by the name of that of its group."""
    return name.replace("ec_", "ec_unit_", 1)


@dataclass(frozen=True)
class ClusterSums:
    """Sums of units, which are clusters and the rows that have none; factors below `least` are 0, and those above `most` infinite."""

    families: Sequence[str]
    decisions: Sequence[tuple[str, str]]
    """The names of the decisions of each class."""
    writer: Writer
    least: str | None
    most: str

    def levels(self, keys: Mapping[str, str], sums: Mapping[str, str]) -> dict[str, str]:
        """The SELECTs from the rows to the sums of groups: `sums` of rows, and those over clusters."""
        groups = ", ".join(keys)
        window = f"OVER ({f'PARTITION BY {groups}' if keys else ''})"
        features = (feature for family in self.families for feature in FEATURES[family])
        elements = [(feature, i) for feature in dict.fromkeys((*features, WEIGHT)) for i in (0, 1)]
        all_pairs = (pair for family in self.families for pair in pairs(FEATURES[family]))
        same = dict.fromkeys((f, g, i) for (f, i), (g, j) in all_pairs if i == j)
        columns = {
            "ec_totals": {f"ec_total_{f}_{i}": f"SUM({self._linear(f, i)}) {window}" for f, i in elements},
            "ec_centres": {
                f"ec_centre_{f}_{i}": self._of("_ratio", x=f"ec_total_{f}_{i}", y=f"ec_total_{WEIGHT}_{i}")
                for f, i in elements
                if f != WEIGHT
            },
            "ec_deviations": {f"ec_deviation_{f}_{i}": self._deviation(f, i) for f, i in elements},
            "ec_squares": {f"ec_square_{f}_{g}_{i}": self._square(f, g, i) for f, g, i in same},
            "ec_without": self._without(),
        }
        source, levels = "ec_units", {}
        units = {**keys, "ec_cluster": "ec_cluster", **{_of_unit(name): sql for name, sql in sums.items()}}
        levels[source] = f"{select(units, 'ec_values')} GROUP BY {', '.join((*keys, 'ec_cluster'))}"
        for name, added in columns.items():
            levels[name], source = select({"*": "*", **added}, source), name
        totals = {name: f"COALESCE(SUM({_of_unit(name)}), 0)" for name in sums}
        totals |= {name: f"COALESCE(SUM({self._product(name, pair)}), 0)" for name, pair in self._sums.items()}
        totals["ec_clusters"] = "COALESCE(SUM(ec_members), 0)"
        levels["ec_sums"] = select({**keys, **totals}, source) + (f" GROUP BY {groups}" if keys else "")
        return levels

    @property
    def _sums(self) -> dict[str, Pair]:
        return {name: pair for family in self.families for name, pair in pair_sums(FEATURES[family]).items()}

    def _linear(self, feature: str, i: int) -> str:
        """The sum of w x of a unit."""
        negative, positive = self.decisions[i]
        if feature == WEIGHT:
            return f"(ec_unit_sum_{negative} + ec_unit_sum_{positive})"
        if feature == "right":
            return f"(ec_unit_sum_cost_{i} - ec_unit_sum_error_{i})"
        return f"ec_unit_sum_{positive}" if feature == "positive" else f"ec_unit_sum_{feature}_{i}"

    def _row_squares(self, first: str, second: str, i: int) -> str:
        """The sum of w^2 times the product of two features."""
        negative, positive = self.decisions[i]
        if first == WEIGHT:
            return f"(ec_unit_sq_{negative} + ec_unit_sq_{positive})"
        if first == "positive":
            return f"ec_unit_sq_{positive}"
        if (first, second) == ("right", "error"):
            # No row is both.
            return self.writer.number(0.0)
        power = 1 if second == WEIGHT else 2
        if first == "right":
            return f"(ec_unit_sum_cost{power}_{i} - ec_unit_sum_error{power}_{i})"
        return f"ec_unit_sum_{first}{power}_{i}"

    def _deviation(self, feature: str, i: int) -> str:
        """The sum of w x of a cluster, less what it were at the mean of the class."""
        at_mean = "" if feature == WEIGHT else f" - ec_centre_{feature}_{i} * {self._linear(WEIGHT, i)}"
        return f"CASE WHEN ec_cluster IS NULL THEN 0 ELSE {self._linear(feature, i)}{at_mean} END"

    def _square(self, first: str, second: str, i: int) -> str:
        """The product of two deviations of a class, or the sum of such products of rows without a cluster."""

        def times_centre(feature: str, *factors: str) -> str:
            return bounded_product([f"ec_centre_{feature}_{i}", *factors], self.least)

        weight2 = self._row_squares(WEIGHT, WEIGHT, i)
        rows = self._row_squares(first, second, i)
        if first != WEIGHT:
            rows += f" - {times_centre(first, self._row_squares(second, WEIGHT, i))}"
        if second != WEIGHT:
            both = times_centre(first, f"ec_centre_{second}_{i}", weight2)
            rows += f" - {times_centre(second, self._row_squares(first, WEIGHT, i))} + {both}"
        return f"CASE WHEN ec_cluster IS NULL THEN {rows} ELSE {self._times((first, i), (second, i))} END"

    def _without(self) -> dict[str, str]:
        """What a class, and all of them, are multiplied by without the unit, and how many clusters it is."""
        squares = [f"ec_square_{WEIGHT}_{WEIGHT}_{i}" for i in (0, 1)]
        square = f"({squares[0]} + 2 * {self._times((WEIGHT, 0), (WEIGHT, 1))} + {squares[1]})"
        weights, totals = [self._linear(WEIGHT, i) for i in (0, 1)], [f"ec_total_{WEIGHT}_{i}" for i in (0, 1)]
        rows = [("_0", squares[0], weights[0], totals[0]), ("_1", squares[1], weights[1], totals[1])]
        rows += [("", square, f"({' + '.join(weights)})", f"({' + '.join(totals)})")]
        shares = {end: (square_, f"{square_} / {weight} / {total}") for end, square_, weight, total in rows}
        factors = {
            f"ec_left{end}": f"CASE WHEN {square_} > 0 THEN CASE WHEN {share} < 1 THEN 1 / (1 - {share}) ELSE 0 END ELSE 0 END"
            for end, (square_, share) in shares.items()
        }
        whole = rows[-1][2]
        return {**factors, "ec_members": f"CASE WHEN {square} > 0 THEN {whole} * {whole} / {square} ELSE 0 END"}

    def _product(self, name: str, pair: Pair) -> str:
        """What a unit adds to the sum of a pair."""
        (first, i), (second, j) = pair
        value = f"ec_square_{first}_{second}_{i}" if i == j else self._times(*pair)
        if name.startswith("ec_q_"):
            return value
        return " * ".join([value, *("ec_left" if feature == WEIGHT else f"ec_left_{k}" for feature, k in pair)])

    def _times(self, first: Element, second: Element) -> str:
        factors = [f"ec_deviation_{feature}_{i}" for feature, i in (first, second)]
        value = bounded_product(factors, self.least)
        if self.least is None:
            return value
        large = " OR ".join(f"ABS({name}) > {self.most}" for name in dict.fromkeys(factors))
        return f"(CASE WHEN {large} THEN {self.writer.infinity} ELSE {value} END)"

    def _of(self, name: str, **arguments: str | Mapping[str, str]) -> str:
        return portable(MacroFormulas({}).of(name, arguments), self.writer)

    # Of groups, and their metrics.

    def effective_clusters(self) -> dict[str, str]:
        """The effective number of clusters less one, of each class and of all: how many there are beside one."""
        squares = [f"ec_q_{WEIGHT}_{i}_{WEIGHT}_{j}" for i, j in ((0, 0), (0, 1), (1, 1))]
        of_all = f"({squares[0]} + 2 * {squares[1]} + {squares[2]})"
        sums = {"_0": ("ec_all_0", squares[0]), "_1": ("ec_all_1", squares[2]), "": ("(ec_all_0 + ec_all_1)", of_all)}
        return {
            f"ec_others{end}": f"CASE WHEN {square} > 0 THEN {weight} * {weight} / {square} - 1 END"
            for end, (weight, square) in sums.items()
        }

    def rescaling(self) -> str:
        """What makes of the sums of a group those of as many rows of weight 1 as there are clusters, or rows where these are fewer."""
        whole = "(ec_all_0 + ec_all_1)"
        return f"CASE WHEN {whole} > 0 THEN LEAST(ec_others + 1, ec_rows_0 + ec_rows_1) / {whole} END"

    def spread(self, slots: Sequence[str]) -> Levels:
        """Levels from slopes to the variance and its degrees of freedom, `ec_variance_of_clusters` and `ec_df_of_clusters`."""
        zero, one_cluster = self.writer.number(_ZERO), [f"ec_others_{i} < {self.writer.number(_ZERO)}" for i in (0, 1)]
        # A row with one decision does not have the other. Of costs the slopes are of all of them, and of those of errors.
        slopes = {("1", i): f"ec_g{i}1 - ec_u * ec_g{i}0" for i in (0, 1)}
        slopes |= {("2", i): f"ec_g{i}1 + ec_g{i}2" for i in (0, 1)}
        factors = {(slot, i): f"ec_h_{slot}_{i}" for slot in slots for i in (0, 1)}
        coefficients = {
            name: f"CASE WHEN {one_cluster[i]} THEN 0 ELSE {slopes[slot, i]} END" for (slot, i), name in factors.items()
        }
        factors |= {(WEIGHT, i): f"ec_mean_{i}" for i in (0, 1)}

        def sum_of(kind: str, of: Iterable[Pair]) -> str:
            return " + ".join(
                f"{'' if first == second else '2 * '}{factors[first]} * {factors[second]} * {sum_name((first, second), kind)}"
                for first, second in of
            )

        within = [pair for pair in pairs(slots) if is_within(pair)]
        components = {
            f"ec_class_{i}": sum_of("q", [pair for pair in within if pair[0][0] != WEIGHT and pair[0][1] == i])
            for i in (0, 1)
        }
        components["ec_among"] = sum_of("q", [pair for pair in within if pair[0][0] == WEIGHT])
        moved = [[f"ec_g{i}{slot} * ec_s{i}{slot}" for slot in ("0", *slots)] for i in (0, 1)]
        sizes = [" + ".join(f"ABS({x})" for x in of_class) for of_class in moved]
        fixed = " OR ".join(
            f"{one} AND ABS({' + '.join(of_class)}) < {zero} * ({size}) AND {size} > {zero} * ({sizes[0]} + {sizes[1]})"
            for one, of_class, size in zip(one_cluster, moved, sizes, strict=True)
        )
        enough = f"ec_clusters >= {FEWEST_CLUSTERS}"
        lost = [
            f"CASE WHEN {part} > 0 THEN {self._of('_ratio', x=part, y=others)} ELSE 0 END"
            for part, others in zip(components, ("ec_others_0", "ec_others_1", "ec_others"), strict=True)
        ]
        # What rounding leaves of influences that cancel in every cluster is nothing.
        added = f"CASE WHEN ec_added <= {self.writer.number(_CANCELLED)} * ec_squared THEN 0 ELSE ec_added END"
        all_components = " + ".join(components)
        df = f"CASE WHEN {all_components} > 0 THEN {self._of('_ratio', x=f'({all_components})', y='ec_lost')} ELSE ec_others END"
        return {
            "ec_coefficients": coefficients,
            "ec_added_by_clusters": {
                "ec_added": sum_of("p", pairs(slots)),
                "ec_squared": sum_of("p", [pair for pair in pairs(slots) if pair[0] == pair[1]]),
                **components,
                "ec_fixed": f"CASE WHEN {fixed} THEN 1 ELSE 0 END",
            },
            "ec_lost_to_clusters": {"ec_lost": " + ".join(lost)},
            "ec_spread_of_clusters": {
                "ec_variance_of_clusters": f"CASE WHEN {enough} THEN (ec_clusters - 1) / ec_clusters * ({added}) END",
                "ec_df_of_clusters": f"CASE WHEN {enough} THEN {df} END",
            },
        }
