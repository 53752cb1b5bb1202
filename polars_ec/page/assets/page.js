(() => {
  const make = (tag, text, kind) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const svg = (tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const all = JSON.parse(document.getElementById("data").textContent);

  const tip = make("dl", undefined, "tip");
  tip.hidden = true;
  document.body.append(tip);
  const tooltip = tooltipIn(tip);

  // Colours are those of the style sheet, so that dark and printed pages need no new charts.
  const text = { labelColor: "var(--soft)", titleColor: "var(--ink)", titleFontWeight: 600 };
  const looks = (narrow) => ({
    font: "system-ui, sans-serif", background: null,
    view: { stroke: null },
    axis: { ...text, gridColor: "var(--rule)", domainColor: "var(--soft)", tickColor: "var(--soft)", labelLimit: 160, labelFontSize: 11, titleFontSize: 12 },
    legend: { ...text, labelLimit: 160, titleLimit: 160, labelFontSize: 11, titleFontSize: 12, symbolOpacity: 1, ...(narrow ? { orient: "bottom", columns: 2 } : {}) },
    header: text,
    title: { color: "var(--ink)", subtitleColor: "var(--soft)", anchor: "start" },
    text: { color: "var(--ink)" },
  });
  const draw = async (element, spec) => {
    const room = element.clientWidth;
    // A legend is no wider than its chart.
    spec = JSON.parse(JSON.stringify(spec).replaceAll('"labelLimit":400', `"labelLimit":${Math.min(400, Math.max(100, room - 60))}`));
    // What is made of several charts keeps its size, and is scaled down where there is no room.
    const one = typeof spec.width === "number" && !["facet", "hconcat", "vconcat", "concat", "repeat"].some((key) => key in spec);
    const inSteps = typeof spec.height === "object";
    const fitted = !one ? spec
      : inSteps ? { ...spec, width: Math.max(160, Math.min(spec.width, room - 140)) }
      : { ...spec, width: Math.min(room, spec.width + 220), autosize: { type: "fit-x", contains: "padding" } };
    await vegaEmbed(element, fitted, {
      mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip, config: looks(room < 480),
    });
    // Its element says what it shows, in words.
    element.querySelector("svg")?.setAttribute("aria-hidden", "true");
  };

  // Data of charts are columns; texts are places in a list.
  const rowsOf = ({ n, columns }) => {
    const values = Object.entries(columns).map(([name, column]) => [
      name, Array.isArray(column) ? column : column.at.map((at) => (at === null ? null : column.texts[at])),
    ]);
    return Array.from({ length: n }, (_, i) => Object.fromEntries(values.map(([name, column]) => [name, column[i]])));
  };
  // Intervals as bars on one scale for each column; the numbers stay for screen readers, print and the pointer.
  const numbers = (text) => text.split(" to ").map((part) => +part.replace("−", "-").replace(/[,%]/g, ""));
  const drawBars = (table) => {
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    [...table.tHead.rows[0].cells].forEach((head, i) => {
      const cells = rows.map((row) => row.cells[i]).filter((cell) => cell?.querySelector("small") && cell.dataset.v !== "");
      const naive = head.dataset.naive === undefined ? null : +head.dataset.naive;
      const bounds = cells.map((cell) => numbers(cell.querySelector("small").textContent));
      // Wide intervals of small groups would leave no room for the others; what lies beyond is drawn at the edge.
      const large = bounds.filter((_, at) => !cells[at].parentElement.classList.contains("small"));
      const known = (large.length ? large : bounds).flat().filter(Number.isFinite).sort((a, b) => a - b);
      if (!known.length) return;
      const cut = Math.floor(known.length / 12);
      const low = Math.min(known[cut], naive ?? Infinity), high = Math.max(known[known.length - 1 - cut], naive ?? -Infinity);
      const x = (value) => 3 + (66 * (Math.min(Math.max(value, low), high) - low)) / (high - low || 1);
      cells.forEach((cell, at) => {
        const [from, to] = bounds[at].map(x);
        const bar = svg("svg", { class: "ci", width: 72, height: 9, "aria-hidden": "true" });
        if (naive !== null) bar.append(svg("path", { class: "naive", d: `M${x(naive).toFixed(1)} 0v9` }));
        bar.append(svg("path", { d: `M${from.toFixed(1)} 4.5H${Math.max(to, from + 1).toFixed(1)}` }));
        // The table has percent where the value is a share.
        const scale = cell.querySelector("small").textContent.includes("%") ? 100 : 1;
        bar.append(svg("circle", { cx: x(scale * cell.dataset.v).toFixed(1), cy: 4.5, r: 2.5 }));
        cell.append(bar);
        cell.title = cell.querySelector("small").textContent;
      });
    });
    table.dataset.bars = "";
  };
  for (const table of document.querySelectorAll("table.bars")) drawBars(table);

  const articles = [...document.querySelectorAll("article")];
  const setUp = (article, data) => {
    const prefix = article.dataset.prefix;
    const $ = (id) => document.getElementById(prefix + id);
    const [main, other, grey] = data.colours;
    const drawAll = async () => {
      for (const element of article.querySelectorAll("[data-chart]")) {
        const spec = data.charts[element.dataset.chart];
        const datasets = Object.fromEntries(Object.entries(spec.datasets).map(([name, packed]) => [name, rowsOf(packed)]));
        try {
          await draw(element, { ...spec, datasets });
        } catch (error) {
          element.textContent = "This chart could not be drawn.";
          console.error(error);
        }
        await new Promise((next) => setTimeout(next));
      }
      document.documentElement.dataset.ready = performance.now().toFixed(0);
    };

    // The trend of one group, in a row of its own below that of the group.
    const trendSpec = ([value, low, high, atPrior, priorLow, priorHigh]) => {
      const own = "own base rate";
      const series = [[own, value, low, high], [data.prior, atPrior, priorLow, priorHigh]];
      const values = series.flatMap(([which, y, from, to]) => y.map((v, i) => ({
        x: data.periods[i], at: i, y: v, low: from[i] ?? null, high: to[i] ?? null, which,
      }))).filter((row) => row.y !== undefined);
      const both = atPrior.length > 0;
      const x = {
        field: "x", type: "ordinal", title: null, scale: { domain: data.periods },
        axis: { labelOverlap: true, labelAngle: data.periods.length > 6 ? -40 : 0 },
      };
      const color = {
        field: "which", type: "nominal", title: null, scale: { domain: both ? series.map(([which]) => which) : [own], range: both ? [main, other] : [main] },
        legend: both ? { orient: "top", columns: 2 } : null,
      };
      const tips = [
        { field: "x", type: "nominal", title: "Period" },
        ...(both ? [{ field: "which", type: "nominal", title: "Base rate" }] : []),
        ...[["y", "Value"], ["low", "From"], ["high", "To"]].map(([field, title]) => ({ field, type: "quantitative", title, format: ".3f" })),
      ];
      const layer = [
        { mark: { type: "area", opacity: 0.18 }, encoding: { x, y: { field: "low", type: "quantitative" }, y2: { field: "high" }, color } },
        { mark: { type: "line", point: true }, encoding: {
          x, y: { field: "y", type: "quantitative", title: data.metric, scale: { zero: false } }, color, tooltip: tips } },
      ];
      if (data.naive !== null) {
        layer.unshift({ data: { values: [{ y: data.naive }] }, mark: { type: "rule", strokeDash: [4, 4], color: grey }, encoding: { y: { field: "y", type: "quantitative" } } });
      }
      return { width: 480, height: 200, data: { values }, layer };
    };
    const open = (row, button) => {
      const shut = button.getAttribute("aria-expanded") === "true";
      close();
      if (shut) return;
      button.setAttribute("aria-expanded", "true");
      const pane = make("tr", undefined, "pane"), cell = make("td"), inside = make("div", undefined, "inside");
      pane.id = `${prefix}pane`;
      cell.colSpan = row.cells.length;
      pane.append(cell);
      cell.append(inside);
      row.after(pane);
      inside.style.width = `${Math.min($("table").parentElement.clientWidth, row.clientWidth)}px`;
      const trend = data.trends[row.dataset.row], facts = data.facts[row.dataset.row] || [];
      if (trend && trend[0].length) {
        const chart = make("div", undefined, "chart");
        chart.setAttribute("role", "img");
        chart.setAttribute("aria-label", `${data.metric} of ${button.textContent} by period, with ${data.interval}`);
        inside.append(chart);
        draw(chart, trendSpec(trend));
      }
      const list = make("dl");
      list.append(...facts.flatMap(([name, value]) => [make("dt", data.names[name]), make("dd", value)]));
      inside.append(list);
      pane.scrollIntoView({ block: "nearest" });
    };
    const close = () => {
      $("pane")?.remove();
      article.querySelector("button.name[aria-expanded=true]")?.setAttribute("aria-expanded", "false");
    };

    // The table.
    const body = $("rows"), rows = [...body.rows], heads = [...$("table").tHead.rows[0].cells];
    for (const row of rows) {
      const button = row.querySelector("button.name");
      if (!button) continue;
      button.disabled = false;
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => open(row, button));
    }
    const inOrder = new Intl.Collator(undefined, { numeric: true });
    heads.forEach((head, i) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.disabled = false;
      button.addEventListener("click", () => {
        close();
        const was = head.getAttribute("aria-sort");
        const up = was ? was === "descending" : i === 0;
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => (i === 0 ? row.cells[0].textContent : row.cells[i].dataset.v === "" ? null : +row.cells[i].dataset.v);
        const keyed = rows.map((row) => [key(row), row]);
        // What is not known comes last, whichever way.
        keyed.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : (up ? 1 : -1) * (i === 0 ? inOrder.compare(a, b) : a - b)));
        body.append(...keyed.map(([, row]) => row));
      });
    });
    const filter = (only) => {
      close();
      const wanted = $("filter").value.trim().toLowerCase(), marked = $("marked").checked;
      let shown = 0;
      for (const row of rows) {
        row.hidden = (only && !only.has(row.dataset.row)) || !row.cells[0].textContent.toLowerCase().includes(wanted) || (marked && !row.querySelector("td .word, th .word.bad"));
        shown += !row.hidden;
      }
      $("shown").textContent = `${shown} of ${rows.length}`;
    };
    $("filter").addEventListener("input", () => filter());
    $("marked").addEventListener("change", () => filter());
    if (rows.length > 1) article.querySelector(".tools").hidden = false;
    // The link of a finding leaves its rows alone in the table; a change of the filter brings the others back.
    for (const link of article.querySelectorAll("a[data-rows]")) {
      link.addEventListener("click", () => {
        $("filter").value = "";
        $("marked").checked = false;
        filter(new Set(link.dataset.rows.split(" ")));
      });
    }
    return drawAll;
  };
  const drawn = articles.map((article, i) => setUp(article, all[i]));
  // Each model's charts are drawn once, when they are first seen.
  const show = (wanted) => {
    articles.forEach((article, i) => { article.hidden = i !== wanted; });
    drawn[wanted]?.();
    drawn[wanted] = null;
  };
  const choice = document.getElementById("choice");
  if (choice) {
    choice.hidden = false;
    choice.addEventListener("change", (event) => show(+event.target.value));
  }
  show(+(document.querySelector("#choice input:checked")?.value ?? 0));
})();
