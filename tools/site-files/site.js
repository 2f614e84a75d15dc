// SPDX-License-Identifier: Apache-2.0
// Search over the headings and names of all pages. INDEX (index.js) holds [page, anchor, title, where, words].
const box = document.getElementById("search"), found = document.getElementById("found");

function score(entry, words) {
  const title = entry[2].toLowerCase(), rest = " " + entry[4] + " ";
  let sum = 0;
  for (const w of words) {
    const at = title.indexOf(w);
    if (at < 0 && !rest.includes(w)) return 0;
    const below = rest.includes(" " + w + " ") ? 3 : rest.includes(" " + w) ? 2 : 1; // a word, its beginning, a part
    sum += title === w ? 100 : at === 0 ? 20 : at > 0 ? 10 : below;
  }
  return sum;
}

function show() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.textContent = "";
  if (!words.length) return;
  const hits = INDEX.map(e => [score(e, words), e]).filter(h => h[0] > 0).sort((a, b) => b[0] - a[0]).slice(0, 12);
  for (const [, e] of hits) {
    const a = document.createElement("a"), where = document.createElement("small");
    a.href = e[0] + ".html" + (e[1] ? "#" + e[1] : "");
    a.textContent = e[2];
    where.textContent = e[3];
    a.append(where);
    found.append(a);
  }
  if (!hits.length) found.textContent = "nothing found";
}

box.addEventListener("input", show);
box.addEventListener("keydown", e => {
  if (e.key === "Enter" && found.querySelector("a")) found.querySelector("a").click();
  if (e.key === "Escape") { box.value = ""; show(); }
});
document.addEventListener("keydown", e => {
  if (e.key === "/" && document.activeElement !== box) { e.preventDefault(); box.focus(); }
});
show();

// On a narrow screen the text comes first.
if (matchMedia("(max-width: 55em)").matches) document.getElementById("pages").open = false;

// Versions of the site beside this one (versions.js, where there are several).
if (typeof VERSIONS !== "undefined" && VERSIONS.length > 1) {
  const here = document.getElementById("version"), list = document.createElement("select");
  const now = here.textContent.replace(/^gpmem /, "");
  for (const v of VERSIONS) list.append(new Option("gpmem " + v, v, v === now, v === now));
  list.setAttribute("aria-label", "Version");
  list.onchange = () => { location.href = "../" + list.value + "/index.html"; };
  here.replaceChildren(list);
}

// A program runs below its text, in the playground; without a web server the link leads there.
for (const link of document.querySelectorAll(".run a")) {
  link.addEventListener("click", e => {
    if (location.protocol === "file:") return;
    e.preventDefault();
    const place = link.parentElement, open = place.querySelector("iframe");
    if (open) { open.remove(); link.textContent = "Run"; return; }
    const frame = document.createElement("iframe");
    frame.title = "playground";
    frame.src = link.getAttribute("href").replace("#", "?embed#");
    place.append(frame);
    link.textContent = "Close";
  });
}
