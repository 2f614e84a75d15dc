"use strict";
// One script for all pages: charts, lists that are sorted, tables of which a row is picked.
// Charts. Hover: the nearest time and its values. Drag: zoom into a stretch of time. Double click: back.
document.querySelectorAll("figure[data-chart]").forEach(function (fig) {
  var d = JSON.parse(fig.querySelector("script").textContent);
  fig.querySelectorAll("svg").forEach(function (svg) {
  var r = svg.querySelector("clipPath rect"), ns = "http://www.w3.org/2000/svg";
  if (!r || !d.x.length) return;
  var L = +r.getAttribute("x"), T = +r.getAttribute("y"), W = +r.getAttribute("width"), H = +r.getAttribute("height");
  var full = svg.getAttribute("viewBox").split(/\s+/).map(Number), view = full.slice();
  var tip = document.createElement("div"), line = document.createElementNS(ns, "line"), sel = document.createElementNS(ns, "rect");
  tip.className = "tip"; svg.parentNode.appendChild(tip);
  line.setAttribute("stroke", "#1d2430"); line.setAttribute("stroke-dasharray", "3 3"); line.setAttribute("visibility", "hidden");
  sel.setAttribute("fill", "#0072b2"); sel.setAttribute("opacity", "0.15"); sel.setAttribute("visibility", "hidden");
  svg.appendChild(sel); svg.appendChild(line);
  function px(x) { return L + W * (x - d.x0) / (d.x1 - d.x0); }
  function at(e) {
    var b = svg.getBoundingClientRect();
    return { x: view[0] + (e.clientX - b.left) / b.width * view[2], y: view[1] + (e.clientY - b.top) / b.height * view[3], b: b };
  }
  function nearest(x) {
    var lo = 0, hi = d.x.length - 1;
    while (hi - lo > 1) { var m = (lo + hi) >> 1; if (d.x[m] < x) lo = m; else hi = m; }
    return x - d.x[lo] < d.x[hi] - x ? lo : hi;
  }
  function show(v) { return v === null ? "" : Math.abs(v) >= 1e5 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(3) : String(+v.toPrecision(5)); }
  var start = null;
  svg.addEventListener("pointermove", function (e) {
    var p = at(e);
    if (start !== null) {
      sel.setAttribute("x", Math.min(start, p.x)); sel.setAttribute("width", Math.abs(p.x - start));
      return;
    }
    if (p.x < L || p.x > L + W || p.y < T || p.y > T + H) { leave(); return; }
    var i = nearest(d.x0 + (p.x - L) / W * (d.x1 - d.x0)), x = px(d.x[i]), text = [d.labels[i]];
    d.series.forEach(function (s) { if (s.y[i] !== null) text.push(s.name + ": " + show(s.y[i])); });
    line.setAttribute("x1", x); line.setAttribute("x2", x); line.setAttribute("y1", T); line.setAttribute("y2", T + H);
    line.setAttribute("visibility", "visible");
    tip.textContent = ""; text.forEach(function (t) { var n = document.createElement("div"); n.textContent = t; tip.appendChild(n); });
    tip.style.display = "block";
    var left = (x - view[0]) / view[2] * p.b.width + 14;
    if (left + tip.offsetWidth > p.b.width) left -= tip.offsetWidth + 28;
    tip.style.left = Math.max(0, left) + "px"; tip.style.top = Math.max(0, (p.y - view[1]) / view[3] * p.b.height - 20) + "px";
  });
  function leave() { tip.style.display = "none"; line.setAttribute("visibility", "hidden"); }
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("pointerdown", function (e) {
    var p = at(e);
    if (p.x < L || p.x > L + W || e.button) return;
    start = p.x; leave(); e.preventDefault();
    sel.setAttribute("y", T); sel.setAttribute("height", H); sel.setAttribute("x", p.x); sel.setAttribute("width", 0); sel.setAttribute("visibility", "visible");
  });
  window.addEventListener("pointerup", function (e) {
    if (start === null) return;
    var p = at(e), a = Math.max(L, Math.min(start, p.x)), b = Math.min(L + W, Math.max(start, p.x));
    start = null; sel.setAttribute("visibility", "hidden");
    if (b - a < 8) return;
    var w = b - a, pad = w * 0.02, h = full[3] * (w / full[2]);
    h = Math.max(h, full[3] * 0.25);
    var mid = Math.min(Math.max(p.y, h / 2), full[3] - h / 2);
    view = [a - pad, mid - h / 2, w + 2 * pad, h];
    svg.setAttribute("preserveAspectRatio", "none");
    svg.style.height = svg.getBoundingClientRect().height + "px";
    svg.setAttribute("viewBox", view.join(" "));
  });
  svg.addEventListener("dblclick", function () {
    view = full.slice(); svg.setAttribute("viewBox", full.join(" ")); svg.removeAttribute("preserveAspectRatio"); svg.style.height = "";
  });
  });
});
// Lists: buttons order the items by one of their data.
document.querySelectorAll(".sort").forEach(function (bar) {
  var list = bar.nextElementSibling, buttons = bar.querySelectorAll("button");
  buttons.forEach(function (button) {
    button.addEventListener("click", function () {
      var by = button.dataset.by;
      buttons.forEach(function (other) { other.setAttribute("aria-pressed", String(other === button)); });
      function order(a, b) {
        var x = a.dataset[by], y = b.dataset[by], n = x - y;
        return (isNaN(n) ? x.localeCompare(y) : n) || a.dataset.rank - b.dataset.rank;
      }
      Array.from(list.children).sort(order).forEach(function (item) { list.append(item); });
    });
  });
});
// Tables: rows have their objectives, small is good, from 0 (the best) to 1 (the worst). A slider for each of the first columns
// weighs it, and the row is picked whose worst weighted objective is least; or the row that is clicked.
document.querySelectorAll("table#pick").forEach(function (table) {
  var rows = Array.from(table.tBodies[0].rows), bar = document.createElement("p");
  if (!rows.length) return;
  bar.className = "weights";
  table.dataset.weights.split("\n").forEach(function (name) {
    var label = document.createElement("label"), input = document.createElement("input");
    input.className = "weight"; input.type = "range"; input.min = 0.02; input.max = 1; input.step = 0.02; input.value = 0.5;
    input.addEventListener("input", pick);
    label.append(name + " ", input);
    bar.append(label, " ");
  });
  function mark(row) { rows.forEach(function (r) { r.className = r === row ? "picked" : ""; }); }
  function pick() {
    var weights = Array.from(bar.querySelectorAll("input")), best = Infinity, at;
    rows.forEach(function (r) {
      var worst = Math.max.apply(null, r.dataset.y.split(" ").map(function (y, j) { return weights[j].value * (+y + 0.01); }));
      if (worst < best) { best = worst; at = r; }
    });
    mark(at);
  }
  rows.forEach(function (r) { r.addEventListener("click", function () { mark(r); }); });
  table.parentNode.before(bar);
  pick();
});
