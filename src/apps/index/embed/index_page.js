const list = document.querySelector('ol');
const rows = [...list.children];
const order = {
  rank: (a, b) => a.dataset.rank - b.dataset.rank,
  name: (a, b) => a.dataset.name.localeCompare(b.dataset.name),
  structure: (a, b) => a.dataset.structure.localeCompare(b.dataset.structure) || a.dataset.rank - b.dataset.rank,
  start: (a, b) => a.dataset.start - b.dataset.start || a.dataset.rank - b.dataset.rank,
};
for (const button of document.querySelectorAll('.sort button'))
  button.addEventListener('click', () => {
    for (const other of document.querySelectorAll('.sort button'))
      other.setAttribute('aria-pressed', String(other === button));
    rows.sort(order[button.dataset.by]).forEach(row => list.append(row));
  });
