"""The tables and the page of a result file: times as multiples of the floor on the same log."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Any

from examples.benchmarks.runners import FLOOR
from examples.benchmarks.task import TASKS

Result = dict[str, Any]
Table = list[list[str]]

TITLES = {
    "metrics": "Expected cost, F1, log loss and Brier score",
    "auc": "AUC",
    "intervals": "95% intervals of F1 (2 classes) or of the error rate (more classes)",
}
NAMES = {"metrics": "Metrics", "auc": "AUC", "intervals": "Intervals"}
READING = (
    "Times are multiples of the floor, a bare group-by of the same rows; in brackets processor time. The fastest run counts. "
    "Memory is the peak of the process."
)


def logs(results: list[Result]) -> Iterator[tuple[str, list[Result]]]:
    """The results of each number of rows and groups, with its heading."""
    ordered = sorted(results, key=_log)
    for (rows, groups), of_log in groupby(ordered, _log):
        yield f"{rows:,} rows, {groups:,} groups", list(of_log)


def _log(result: Result) -> tuple[int, int]:
    return result["rows"], result["groups"]


def ratios(result: Result, results: list[Result]) -> dict[str, float] | None:
    """Time and processor time as multiples of the floor's with as many classes; nothing where one of them was not timed."""
    (floor,) = (each for each in results if each["task"] == FLOOR and each["classes"] == result["classes"])
    if not (result["seconds"] and floor["seconds"]):
        return None
    return {name: min(result[name]) / min(floor[name]) for name in ("seconds", "cpu_seconds")}


def table(results: list[Result], task: str) -> Table:
    """A task on logs of one number of rows and groups: a line per solution, and a time and a memory for each number of classes."""
    classes = sorted({result["classes"] for result in results})
    heads = [head for n in classes for head in (f"{n} classes: time, × floor", "memory, MB")]
    lines = [["solution", *heads]]
    of_task = [result for result in results if result["task"] == task]
    for title in dict.fromkeys(result["title"] for result in of_task):
        line = [title]
        for n in classes:
            (result,) = (each for each in of_task if each["title"] == title and each["classes"] == n)
            times = ratios(result, results)
            if times is None:
                line += [result["status"], ""]
            else:
                line += [f"{times['seconds']:.1f} ({times['cpu_seconds']:.1f})", f"{max(result['peak_mb']):,.0f}"]
        lines.append(line)
    return lines


def notes(results: list[Result]) -> list[str]:
    """Why answers are missing, where there is more to say than a word."""
    return list(
        dict.fromkeys(
            f"{each['title']}, {each['task']}, {each['classes']} classes: {each['status']}, {each['detail']}"
            for each in results
            if each["detail"]
        )
    )


def machine_of(run: dict[str, Any]) -> str:
    """The machine and the versions in a sentence each."""
    machine = run["machine"]
    versions = dict.fromkeys(each["version"] for each in run["results"] if "version" in each)
    return (
        f"{machine['cores']} cores, {machine['memory_gb']:.0f} GB, {machine['system']}, Python {machine['python']}. "
        f"Rounds: {run['repeat']}. Versions: {', '.join(versions)}."
    )


def markdown(run: dict[str, Any]) -> str:
    """The tables, for a terminal and for the docs."""
    parts = [machine_of(run), READING]
    for heading, results in logs(run["results"]):
        parts.append(f"## {heading}")
        for task in TASKS:
            head, *lines = table(results, task)
            rule = ["---"] * len(head)
            parts += [f"### {TITLES[task]}", "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines))]
        parts += ["\n".join(f"- {note}" for note in notes(results))]
    return "\n\n".join(part for part in parts if part)


def html(run: dict[str, Any]) -> str:
    """The page: a chart and the tables for each number of rows and groups."""
    parts = [f"<h1>Metrics per group: the benchmark of the field</h1><p>{escape(machine_of(run))}</p><p>{READING}</p>"]
    for heading, results in logs(run["results"]):
        parts.append(f"<h2>{heading}</h2><figure>{chart(results)}</figure>")
        for task in TASKS:
            head, *lines = (list(map(escape, line)) for line in table(results, task))
            cells = [
                f"<tr><th scope='row'>{first}</th><td>{'</td><td>'.join(rest)}</td></tr>" for first, *rest in lines
            ]
            top = "".join(f"<th scope='col'>{cell}</th>" for cell in head)
            parts.append(f"<h3>{TITLES[task]}</h3><table><tr>{top}</tr>{''.join(cells)}</table>")
        parts.append("<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes(results)) + "</ul>")
    style = (
        "body{font:16px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em}figure{margin:0;overflow-x:auto}"
        "table{border-collapse:collapse}th,td{padding:.2em .8em;border-bottom:1px solid #ccc}td{text-align:right}"
        "th{text-align:left}"
    )
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>The benchmark of the field</title>"
        f"<style>{style}</style><body>{''.join(parts)}</body></html>\n"
    )


def chart(results: list[Result]) -> str:
    """The times as SVG, a panel for each task and number of classes; the word for what has no time stands at the floor."""
    import altair as alt
    import vl_convert

    rows = []
    for result in results:
        if result["task"] == FLOOR:
            continue
        times = ratios(result, results)
        rows.append(
            {
                "solution": result["title"],
                "panel": f"{NAMES[result['task']]}, {result['classes']} classes",
                "ratio": times["seconds"] if times else None,
                "text": f"{times['seconds']:.1f}" if times else result["status"],
            }
        )
    order = list(dict.fromkeys(row["solution"] for row in rows))
    panels = [
        f"{NAMES[task]}, {n} classes" for task in TASKS for n in sorted({result["classes"] for result in results})
    ]
    scale = alt.Scale(type="log", domainMin=0.5)
    y = alt.Y("solution:N", sort=order, title=None, axis=alt.Axis(labelLimit=300))
    shown = alt.Chart().encode(y=y)
    timed, untimed = (shown.transform_filter(f"{mark}isValid(datum.ratio)") for mark in ("", "!"))
    x = alt.X("ratio:Q", scale=scale, title="time, × the floor")
    layers = [
        timed.mark_rule(color="#4c78a8").encode(x=x, x2=alt.datum(1)),
        timed.mark_circle(color="#4c78a8", size=60, opacity=1).encode(x=x),
        timed.mark_text(align="left", dx=7).encode(x=x, text="text:N"),
        untimed.mark_text(align="left", dx=7, color="#666").encode(x=alt.datum(1, scale=scale), text="text:N"),
    ]
    panel = alt.layer(*layers, data=alt.Data(values=rows)).properties(width=230, height=18 * len(order))
    facet = alt.Facet("panel:N", sort=panels, title=None)
    return vl_convert.vegalite_to_svg(panel.facet(facet, columns=len(panels) // len(TASKS)).to_dict())
