"""Will it rain? The worked numbers of Cumani's lecture "Bayes decisions and model evaluation".

The example shows why a forecast with 86 % accuracy can be worse than none, and how costs and priors change the best decision.
It also shows that a detection cost depends on one number, the effective prior.
"""

import polars as pl

import polars_ec as ec


def counts(table: list[list[int]]) -> pl.DataFrame:
    """A log of decisions with these counts: rows what came, columns what was decided (the lecture prints the transpose)."""
    cells = [(i, j, n) for i, row in enumerate(table) for j, n in enumerate(row)]
    return pl.DataFrame(cells, schema=["label", "decision", "count"], orient="row")


def show(what: str, computed: float, printed: str) -> None:
    print(f"{what:<46} {computed:9.5f}   lecture: {printed}")


def main() -> None:
    decided = {"score_type": "decision", "weight": "count"}
    forecast, always_clear = counts([[300, 30], [20, 15]]), counts([[330, 0], [35, 0]])
    print("A year of forecasts (class 1: rain)")
    for name, log in (("forecast", forecast), ("always clear", always_clear)):
        accuracy, nec, recall = log.select(
            ec.accuracy("decision", "label", **decided).alias("accuracy"),
            ec.nec("decision", "label", **decided).alias("nec"),
            ec.recall("decision", "label", **decided).alias("recall"),
        ).row(0)
        show(f"accuracy, {name}", accuracy, "about 86 %" if name == "forecast" else "about 90 %")
        show(f"NEC, {name} (1: no better than constant)", nec, "-")
        show(f"rain that was announced, {name}", recall, "-")

    print("\nThree classes: deciding next door costs 1, at the far end 2")
    costs = ec.CostMatrix([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    posteriors = [0.4, 0.25, 0.35]
    one_row = pl.DataFrame({"q": [posteriors]}, schema={"q": pl.Array(pl.Float64, 3)})
    for action, printed in enumerate(("0.95", "0.75", "1.05")):
        constant = pl.DataFrame({"label": [0, 1, 2], "action": [action] * 3})
        cost = ec.expected_cost("action", "label", score_type="decision", costs=costs, prior=posteriors)
        show(f"expected cost of action {action + 1}", constant.select(cost).item(), printed)
    show("Bayes decision", one_row.select(ec.bayes_decision("q", costs=costs)).item() + 1, "2")
    show("largest posterior", one_row.select(ec.bayes_decision("q")).item() + 1, "-")

    print("\nEmpirical Bayes risk, at stated priors (0.3, 0.4, 0.3)")
    log = counts([[205, 145, 50], [111, 199, 92], [56, 121, 225]])
    options = {**decided, "costs": costs, "prior": [0.3, 0.4, 0.3]}
    show("risk", log.select(ec.expected_cost("decision", "label", **options)).item(), "0.55962")
    show("normalised risk", log.select(ec.nec("decision", "label", **options)).item(), "-")

    print("\nDetection cost: prior 0.1 and costs 1, 9 are one effective prior with even costs")
    effective = ec.effective_prior(0.1, 1, 9)
    llrs = pl.DataFrame({"llr": [6.2, 5.1, 4.5, 3.0, 4.9, 0.2, -1.0, -3.0], "label": [1, 1, 1, 1, 0, 0, 0, 0]})
    stated = ec.dcf("llr", "label", score_type="llr", prior=0.1, cost_fn=1, cost_fp=9)
    same = ec.dcf("llr", "label", score_type="llr", prior=effective)
    show("DCF at (0.1, 1, 9)", llrs.select(stated).item(), "-")
    show(f"DCF at effective prior {effective:.6f}", llrs.select(same).item(), "the same")


if __name__ == "__main__":
    main()
