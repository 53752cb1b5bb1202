"""A marimo notebook: what a classifier costs while you move the cost of a miss. Open it with `marimo edit examples/notebooks/costs.py`."""

import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import polars as pl
    from sklearn import datasets, discriminant_analysis, model_selection, naive_bayes

    import polars_ec as ec

    return datasets, discriminant_analysis, ec, mo, model_selection, naive_bayes, pl


@app.cell
def _(datasets, discriminant_analysis, model_selection, naive_bayes, pl):
    X, benign = datasets.load_breast_cancer(return_X_y=True)
    models = {"bayes": naive_bayes.GaussianNB(), "linear": discriminant_analysis.LinearDiscriminantAnalysis()}
    log = pl.DataFrame(
        {
            name: model_selection.cross_val_predict(model, X, benign == 0, method="predict_proba")[:, 1]
            for name, model in models.items()
        }
    ).with_columns(malignant=benign == 0)
    return (log,)


@app.cell
def _(mo):
    cost_fn = mo.ui.slider(1, 50, value=10, label="Cost of a missed tumour, in false alarms")
    mo.md(f"# What do the decisions cost?\n\nMove the slider: tables and charts follow.\n\n{cost_fn}")
    return (cost_fn,)


@app.cell
def _(cost_fn, log):
    metrics = ["expected_cost", "nec", "recall", "precision"]
    report = log.ec.report(["bayes", "linear"], "malignant", metrics=metrics, interval=0.95, cost_fn=cost_fn.value)
    report
    return (report,)


@app.cell
def _(cost_fn, log):
    comparison = log.ec.compare(
        ["bayes", "linear"], "malignant", metrics=["expected_cost"], cost_fn=cost_fn.value
    ).select("value_reference", "value", "difference", "difference_ci_low", "difference_ci_high")
    comparison
    return (comparison,)


@app.cell
def _(cost_fn, ec, log):
    chart = ec.plot.cost_curve(log.ec.sketch("linear", "malignant", cost_fn=cost_fn.value))
    chart
    return (chart,)


if __name__ == "__main__":
    app.run()
