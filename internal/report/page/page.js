"use strict";
// Draws what package page describes as JSON. Nothing here makes HTML of a text: texts are set as
// textContent, and lengths through the style's own properties, which the page's policy allows.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const element = (tag, text, cls) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (cls) e.className = cls;
    return e;
  };

  // Numbers for people, as package report writes them: three digits and a unit.
  const digits = (v) => (v >= 99.95 ? v.toFixed(0) : v >= 9.995 ? v.toFixed(1) : v.toFixed(2));
  const scaled = (v, base, units) => {
    let i = 0;
    while (Math.abs(v) >= base * 0.9995 && i < units.length - 1) { v /= base; i++; }
    return (v < 0 ? "-" : "") + digits(Math.abs(v)) + units[i];
  };
  const seconds = (v) => {
    if (v === 0) return "0s";
    if (v < 1e-6) return Math.round(v * 1e9) + "ns";
    if (v < 1e-3) return digits(v * 1e6) + "µs";
    return v < 1 ? digits(v * 1e3) + "ms" : digits(v) + "s";
  };
  const binary = ["B", "KiB", "MiB", "GiB", "TiB"];
  const human = (v, unit) => {
    if (v === null || v === undefined) return "–";
    switch (unit) {
      case "seconds": return seconds(v);
      case "bytes": return scaled(v, 1024, binary.map((u) => " " + u));
      case "bytes/s": return scaled(v, 1024, binary.map((u) => " " + u + "/s"));
      default: return scaled(v, 1000, ["", "k", "M", "G", "T"]);
    }
  };
  // On axes without digits that say nothing: 10 MiB/s rather than 10.0 MiB/s.
  const tick = (v, unit) => human(v, unit).replace(/\.0+(?=\D|$)/, "").replace(/(\.\d*?[1-9])0+(?=\D|$)/, "$1");

  const percentile = (x) => "p" + Number((100 * (1 - 1 / x)).toPrecision(6));
  const clock = (x) => new Date(x * 1000).toISOString().slice(11, 19);

  // What a chart of each kind adds to what all have.
  const kinds = {
    percentiles: () => ({
      x: {time: false, distr: 3, log: 10},
      y: {distr: 3, log: 10},
      xAxis: {splits: () => [2, 10, 100, 1000, 10000], filter: (u, s) => s, values: (u, s) => s.map(percentile)},
      xText: percentile,
      line: (chart, i) => ({width: 2, points: {show: false}, dash: i % 2 ? [7, 3] : undefined}),
    }),
    trials: () => ({
      x: {time: false},
      xAxis: {values: (u, s) => s.map(clock)},
      xText: clock,
      line: () => ({width: 0, paths: () => null, points: {show: true, size: 7}}),
    }),
    timeline: () => ({
      x: {time: false},
      xAxis: {values: (u, s) => s.map(clock)},
      xText: clock,
      line: () => ({width: 1.5, points: {show: false}, spanGaps: false}),
    }),
    curve: (chart) => {
      const first = chart.x.find((v) => v > 0), last = chart.x[chart.x.length - 1];
      const log = chart.x[0] > 0 && last / first >= 20;
      return {
        x: log ? {time: false, distr: 3, log: 2} : {time: false},
        xAxis: {splits: () => chart.x, filter: (u, s) => s, values: (u, s) => s.map((v) => tick(v, chart.xUnit))},
        xText: (x) => tick(x, chart.xUnit),
        line: () => ({width: 2, points: {show: true, size: 7}}),
      };
    },
  };

  // Stretches and marks below the lines, whiskers above them.
  const below = (chart) => (u) => {
    const {ctx, bbox} = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const band of chart.bands || []) {
      const from = u.valToPos(band.from, "x", true), to = u.valToPos(band.to, "x", true);
      ctx.fillStyle = colour(band.bad ? "bad-bg" : "open-bg");
      ctx.fillRect(from, bbox.top, Math.max(1, to - from), bbox.height);
    }
    let free = -Infinity; // where the last name ends: one on another, nobody reads them
    for (const mark of chart.marks || []) {
      const at = u.valToPos(mark.x, "x", true);
      ctx.strokeStyle = ctx.fillStyle = colour("bad");
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash([4, 3]);
      ctx.beginPath();
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
      ctx.font = 11 * devicePixelRatio + "px system-ui, sans-serif";
      const gap = 4 * devicePixelRatio, width = ctx.measureText(mark.name).width;
      const from = at + gap + width > bbox.left + bbox.width ? at - gap - width : at + gap;
      if (from < free) continue;
      free = from + width + 2 * gap;
      ctx.textAlign = "left";
      ctx.fillText(mark.name, from, bbox.top + 12 * devicePixelRatio);
    }
    ctx.restore();
  };
  const above = (chart) => (u) => {
    const {ctx} = u;
    ctx.save();
    chart.lines.forEach((line, i) => {
      if (!line.low || !line.high || !u.series[i + 1].show) return;
      ctx.strokeStyle = u.series[i + 1].stroke(u, i + 1);
      ctx.lineWidth = 1.5 * devicePixelRatio;
      chart.x.forEach((x, k) => {
        if (line.low[k] === null || line.high[k] === null) return;
        const at = u.valToPos(x, "x", true), arm = 4 * devicePixelRatio;
        const top = u.valToPos(line.high[k], line.unit, true), bottom = u.valToPos(line.low[k], line.unit, true);
        ctx.beginPath();
        ctx.moveTo(at, top); ctx.lineTo(at, bottom);
        ctx.moveTo(at - arm, top); ctx.lineTo(at + arm, top);
        ctx.moveTo(at - arm, bottom); ctx.lineTo(at + arm, bottom);
        ctx.stroke();
      });
    });
    ctx.restore();
  };

  const range = (chart, unit, log) => (u, low, high) => {
    for (const line of chart.lines) {
      if (line.unit !== unit) continue;
      for (const v of line.high || []) if (v !== null && v > high) high = v;
    }
    if (log) return low > 0 ? uPlot.rangeLog(low, high, 10, false) : [1e-6, 1];
    return [0, high > 0 ? high * 1.08 : 1]; // rates begin at zero
  };

  const draw = (chart, into) => {
    const kind = Object.hasOwn(kinds, chart.kind) ? kinds[chart.kind](chart) : null;
    if (!kind) {
      into.replaceChildren(element("p", "This page cannot draw a chart of the kind “" + chart.kind + "”.", "muted"));
      return null;
    }
    const units = [...new Set(chart.lines.map((l) => l.unit))];
    const text = colour("muted"), grid = {stroke: colour("grid"), width: 1};
    const font = "12px system-ui, sans-serif";
    const log = Boolean(kind.y && kind.y.distr === 3);
    const scales = {x: kind.x};
    for (const unit of units) scales[unit] = Object.assign({auto: true, range: range(chart, unit, log)}, kind.y);
    const axes = [Object.assign({stroke: text, grid, ticks: grid, font, space: 60}, kind.xAxis)];
    units.slice(0, 2).forEach((unit, i) => axes.push({
      scale: unit, side: i ? 1 : 3, stroke: text, ticks: grid, font, size: 76, grid: i ? {show: false} : grid,
      values: (u, s) => s.map((v) => (v === null ? "" : tick(v, unit))),
    }));
    const series = [{label: chart.xName, value: (u, v) => (v === null ? "–" : kind.xText(v))}];
    chart.lines.forEach((line, i) => series.push(Object.assign({
      label: line.name, scale: line.unit, stroke: colour("s" + (1 + (i % 8))),
      value: (u, v) => human(v, line.unit),
    }, kind.line(chart, i))));
    const columns = [chart.x, ...chart.lines.map((l) => (log ? l.y.map((v) => (v > 0 ? v : null)) : l.y))];
    return new uPlot({
      width: Math.max(200, into.clientWidth), height: 280, scales, axes, series,
      cursor: {y: false, points: {size: 7}}, legend: {live: true},
      hooks: {drawClear: [below(chart)], draw: [above(chart)]},
    }, columns, (u, ready) => { into.replaceChildren(u.root); ready(); });
  };

  const plots = new Map();
  const drawAll = () => {
    for (const chart of data.charts || []) {
      const into = document.getElementById(chart.id);
      if (!into) continue;
      const old = plots.get(into);
      if (old) old.plot.destroy();
      plots.delete(into);
      const plot = draw(chart, into);
      if (plot) plots.set(into, {plot, width: into.clientWidth});
      into.dataset.drawn = plot ? chart.kind : "unknown";
    }
  };

  for (const drawn of document.querySelectorAll(".drawn")) {
    const low = Number(drawn.dataset.low), mid = Number(drawn.dataset.mid), high = Number(drawn.dataset.high);
    const [bar, middle] = drawn.children;
    bar.style.left = low + "%";
    bar.style.width = high - low + "%";
    middle.style.left = mid + "%";
  }

  // All metrics of a row, when somebody asks.
  const escape = (s) => s.replaceAll("~", "~0").replaceAll("/", "~1");
  const fill = (details) => {
    const metrics = (data.metrics || [])[Number(details.dataset.metrics)];
    if (!metrics || details.querySelector("table")) return;
    const table = element("table"), head = element("thead"), titles = element("tr"), body = element("tbody");
    for (const [i, name] of ["Metric", "n", "Median", "Low", "High", "Pooled"].entries()) {
      const th = element("th", name, i ? "r" : "");
      th.scope = "col";
      titles.append(th);
    }
    const cell = (value, text, at) => {
      const td = element("td", undefined, "r");
      if (value === null) { td.append(element("span", "–", "none")); return td; }
      const d = element("data", text);
      d.value = String(value);
      d.dataset.at = at;
      td.append(d);
      return td;
    };
    for (const [name, unit, n, median, low, high, pooled, bounds] of metrics.lines || []) {
      const tr = element("tr"), th = element("th", name + (bounds ? " (" + bounds + " of " + n + " are lower bounds)" : ""));
      th.scope = "row";
      const at = metrics.at + "/" + escape(name) + "/";
      tr.append(th, cell(n, String(n), at + "n"));
      for (const [field, v] of Object.entries({median, low, high, pooled})) tr.append(cell(v, v === null ? "" : human(v, unit), at + field));
      body.append(tr);
    }
    head.append(titles);
    table.append(head, body);
    const scroll = element("div", undefined, "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", details.querySelector("summary").textContent);
    scroll.append(table);
    details.append(scroll);
  };
  for (const details of document.querySelectorAll("details[data-metrics]")) {
    details.addEventListener("toggle", () => { if (details.open) fill(details); });
  }

  drawAll();
  let pending = 0;
  new ResizeObserver(() => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(() => {
      for (const [into, p] of plots) {
        if (into.clientWidth === p.width) continue;
        p.width = into.clientWidth;
        p.plot.setSize({width: Math.max(200, p.width), height: 280});
      }
    });
  }).observe(document.querySelector("main"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  matchMedia("print").addEventListener("change", drawAll);
  document.documentElement.dataset.drawn = String(Math.round(performance.now()));
})();
