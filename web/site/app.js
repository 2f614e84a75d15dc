// SPDX-License-Identifier: Apache-2.0
// The playground: one worker that is ended and started anew by Stop; the program travels in the link's fragment.
'use strict';
const $ = id => document.getElementById(id);
const LIMIT = 400000; // characters of output that the page keeps
let worker = null, ready = false, job = 0, waiting = null, started = 0, shown = 0, examples = {};

function state(text) { $('state').textContent = text; }

// The library is fetched and compiled once, while the rest of the page loads; each worker gets it as it is. Servers that
// call it something else than application/wasm are heard, too.
const library = 'gpmem-web.wasm';
const compiled = WebAssembly.compileStreaming(fetch(library))
  .catch(() => fetch(library).then(r => r.arrayBuffer()).then(b => WebAssembly.compile(b)));

function start() {
  ready = false;
  const mine = worker = new Worker('worker.js');
  compiled.then(module => mine.postMessage({do: 'load', module: module}),
                e => receive({id: job, kind: 'dead', text: String(e)}));
  worker.onmessage = event => receive(event.data);
  worker.onerror = e => receive({id: job, kind: 'dead', text: e.message || 'the program could not be loaded'});
}

function busy(on) {
  $('run').disabled = on;
  $('stop').disabled = !on;
  $('progress').hidden = true;
}

function add(kind, text) {
  const out = $('output');
  shown += text.length;
  if (shown > LIMIT) {
    if (shown - text.length <= LIMIT) out.append('... the rest is not shown');
    return;
  }
  const last = out.lastElementChild;
  if (last && last.dataset.kind === kind && (kind === 'out' || kind === 'err')) {
    last.textContent += text;
    return;
  }
  let e;
  if (kind === 'svg') {
    e = new Image();
    e.src = URL.createObjectURL(new Blob([text], {type: 'image/svg+xml'}));
    e.alt = 'plot';
  } else if (kind === 'html') {
    e = table(text);
  } else if (kind === 'report') {
    e = document.createElement('iframe');
    e.setAttribute('sandbox', 'allow-scripts');
    e.srcdoc = text;
    e.title = 'report';
  } else {
    e = document.createElement('pre');
    e.textContent = text;
    const place = /program:(\d+):/.exec(text);
    if (kind === 'error' && place) e.onclick = () => goTo(+place[1]);
  }
  e.className = kind;
  e.dataset.kind = kind;
  out.append(e);
}

// Cells and text alone: what a program prints is never markup of this page.
function table(html) {
  const from = new DOMParser().parseFromString(html, 'text/html'), box = document.createElement('div');
  for (const e of from.body.children) {
    const to = document.createElement(e.tagName === 'TABLE' ? 'table' : 'pre');
    if (e.tagName !== 'TABLE') to.textContent = e.textContent;
    for (const row of e.querySelectorAll('tr')) {
      const tr = to.insertRow();
      for (const cell of row.children) tr.append(Object.assign(document.createElement(cell.tagName), {textContent: cell.textContent}));
    }
    box.append(to);
  }
  return box;
}

function goTo(line) {
  const lines = $('program').value.split('\n'), at = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
  $('program').focus();
  $('program').setSelectionRange(at, at + (lines[line - 1] || '').length);
}

function receive(m) {
  if (m.kind === 'ready') {
    ready = true;
    $('version').textContent = m.text;
    state(waiting ? 'running' : 'ready');
    if (waiting) { worker.postMessage(waiting); waiting = null; }
  } else if (m.id !== job && m.kind !== 'dead') {
    return;
  } else if (m.kind === 'done') {
    busy(false);
    state((m.text || 'done') + ' in ' + ((performance.now() - started) / 1000).toFixed(1) + ' s');
    document.body.dataset.done = job;
  } else if (m.kind === 'dead') {
    add('error', m.text);
    busy(false);
    state('ended');
    document.body.dataset.done = job;
    worker.terminate();
    start();
  } else if (m.kind === 'progress') {
    $('progress').hidden = false;
    $('progress').value = +m.text;
  } else {
    add(m.kind, m.text);
  }
}

function ask(q) {
  $('output').replaceChildren();
  shown = 0;
  busy(true);
  state('running');
  started = performance.now();
  q.id = ++job;
  q.seed = +$('seed').value || 0;
  q.files = examples;
  if (ready) worker.postMessage(q); else waiting = q;
}

function run() { ask({do: 'run', text: $('program').value}); }

function stop() {
  worker.terminate();
  waiting = null;
  job++;
  busy(false);
  state('stopped');
  document.body.dataset.done = job;
  start();
}

async function discover(file) {
  if (file.size > 50e6) { add('error', 'the file has more than 50 MB'); return; }
  ask({do: 'discover', name: file.name, text: await file.text(), seconds: 120});
}

// ---- links: the fragment holds program and seed, and whether it runs at once ----
const encode = o => btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(o)))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
function decode(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), c => c.charCodeAt(0));
    const o = JSON.parse(new TextDecoder().decode(bytes));
    return typeof o.program === 'string' ? o : null;
  } catch (e) { return null; }
}
async function share() {
  location.hash = encode({program: $('program').value, seed: +$('seed').value || 0});
  try { await navigator.clipboard.writeText(location.href); state('the link is copied'); } catch (e) { state('the link stands in the address bar'); }
}

$('run').onclick = run;
$('stop').onclick = stop;
$('share').onclick = share;
$('file').onchange = e => { if (e.target.files[0]) discover(e.target.files[0]); e.target.value = ''; };
$('program').onkeydown = e => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); if (!$('run').disabled) run(); } };
addEventListener('dragover', e => { e.preventDefault(); document.body.classList.add('drop'); });
addEventListener('dragleave', () => document.body.classList.remove('drop'));
addEventListener('drop', e => { e.preventDefault(); document.body.classList.remove('drop'); if (e.dataTransfer.files[0]) discover(e.dataTransfer.files[0]); });
$('examples').onchange = e => {
  const name = e.target.value;
  if (name.endsWith('.csv')) discover(new File([examples[name]], name)); else $('program').value = examples[name];
};

if (new URLSearchParams(location.search).has('embed')) document.body.classList.add('embed');
if (location.protocol === 'file:') state('browsers run this from a web server only: python3 -m http.server');
start();
fetch('examples.json').then(r => r.json()).then(all => {
  examples = all;
  const names = Object.keys(all).filter(n => (n.endsWith('.vnts') && !n.includes('_data')) || n.endsWith('.csv'));
  for (const n of names) $('examples').append(new Option(n.replace(/\.vnts$/, ''), n));
  const given = decode(location.hash.slice(1));
  if (given) {
    $('examples').selectedIndex = -1;
    $('program').value = given.program;
    $('seed').value = given.seed || 1;
    if (given.run === true) run();
  } else {
    $('examples').value = 'coin.vnts';
    $('program').value = all['coin.vnts'];
  }
  document.body.dataset.loaded = '1';
});
