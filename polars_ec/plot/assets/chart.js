(() => {
  const place = document.getElementById("chart");
  const spec = document.getElementById("spec").textContent;
  const tooltip = tooltipIn(document.querySelector("dl"));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const draw = () => {
    const [ink, grid] = dark.matches ? ["#dddddd", "#444444"] : ["#222222", "#dddddd"];
    const text = { labelColor: ink, titleColor: ink };
    const config = {
      background: null, font: "system-ui, sans-serif", view: { stroke: grid }, header: text, legend: text,
      axis: { ...text, gridColor: grid, domainColor: ink, tickColor: ink }, title: { color: ink, subtitleColor: ink },
    };
    const how = { mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip, config };
    return vegaEmbed(place, JSON.parse(spec), how);
  };
  dark.addEventListener("change", draw);
  draw();
})();
