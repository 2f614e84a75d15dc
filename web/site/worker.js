// SPDX-License-Identifier: Apache-2.0
// The worker that runs programs. In: first {do: "load", module}, the compiled library; then {id, do: "run" | "discover", ...}.
// Out: {id, kind, text}, where kind is ready, out, err, error, svg, html, report, progress, done or dead. The page ends the
// worker to stop it.
importScripts('gpmem-web.js');
let current = 0, module = null, held = '';

// Small pieces of output go together: a message for each of a million lines would fill the page's memory.
function flush() {
  if (held) postMessage({id: current, kind: 'out', text: held});
  held = '';
}
function say(kind, text) {
  if (kind === 'out') {
    held += text;
    if (held.length > 4096) flush();
    return;
  }
  flush();
  postMessage({id: current, kind: kind, text: text});
}

function load(library) {
  const dead = e => postMessage({id: 0, kind: 'dead', text: String(e)});
  gpmem({
    say: say,
    instantiateWasm: (imports, done) => {
      WebAssembly.instantiate(library, imports).then(instance => done(instance, library), dead);
      return {}; // later
    },
  }).then(m => {
    module = m;
    postMessage({id: 0, kind: 'ready', text: m.ccall('web_version', 'string', [], [])});
  }, dead);
}

const jobs = {
  run: q => module.ccall('web_run', 'number', ['string', 'number'], [q.text, q.seed]),
  discover: q => module.ccall('web_discover', 'number', ['string', 'string', 'number', 'number'], [q.name, q.text, q.seed, q.seconds]),
};

onmessage = event => {
  const q = event.data;
  if (q.do === 'load') {
    load(q.module);
    return;
  }
  current = q.id;
  try {
    for (const name in q.files || {}) module.FS.writeFile(name, q.files[name]);
    const failed = jobs[q.do](q);
    flush();
    postMessage({id: q.id, kind: 'done', text: failed ? 'failed' : ''});
  } catch (e) {
    flush();
    postMessage({id: q.id, kind: 'dead', text: e instanceof RangeError ? 'the recursion is deeper than this browser allows' : String(e)});
  }
};
