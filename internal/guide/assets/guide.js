// The pages work without this. It adds tabs for the languages, copying, and search.
'use strict';

const menu = document.querySelector('.menu');
const wide = matchMedia('(min-width: 60rem)');
const fit = () => { menu.open = wide.matches; };
fit();
wide.addEventListener('change', fit);

// The reader's language is the same in all tabs, and on the next page.
const remembered = () => { try { return localStorage.getItem('cascada.language'); } catch { return null; } };
const blocks = [...document.querySelectorAll('.tabs')];
function choose(language) {
  for (const block of blocks) {
    const figures = [...block.querySelectorAll('figure')];
    const shown = figures.find((f) => f.dataset.language === language) || figures[0];
    for (const f of figures) f.hidden = f !== shown;
    for (const b of block.querySelectorAll('[role=tab]')) {
      const on = b.dataset.language === shown.dataset.language;
      b.setAttribute('aria-selected', String(on));
      b.tabIndex = on ? 0 : -1;
    }
  }
}
blocks.forEach((block, n) => {
  const bar = document.createElement('div');
  bar.className = 'choose';
  bar.setAttribute('role', 'tablist');
  bar.setAttribute('aria-label', 'Language');
  for (const f of block.querySelectorAll('figure')) {
    const b = document.createElement('button');
    b.type = 'button';
    b.setAttribute('role', 'tab');
    b.dataset.language = f.dataset.language;
    b.textContent = f.querySelector('figcaption').textContent;
    f.id = `snippet-${n}-${f.dataset.language}`;
    b.setAttribute('aria-controls', f.id);
    b.addEventListener('click', () => {
      try { localStorage.setItem('cascada.language', f.dataset.language); } catch { /* not allowed: the tabs work all the same */ }
      const before = block.getBoundingClientRect().top;
      choose(f.dataset.language);
      scrollBy(0, block.getBoundingClientRect().top - before);
    });
    bar.append(b);
  }
  bar.addEventListener('keydown', (e) => {
    const all = [...bar.querySelectorAll('[role=tab]')], at = all.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step || at < 0) return;
    const next = all[(at + step + all.length) % all.length];
    next.click();
    next.focus();
  });
  if (navigator.clipboard) {
    const copy = document.createElement('button');
    copy.type = 'button';
    copy.className = 'copy';
    copy.textContent = 'Copy';
    copy.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.querySelector('figure:not([hidden]) code').textContent);
      copy.textContent = 'Copied';
      setTimeout(() => { copy.textContent = 'Copy'; }, 1500);
    });
    const row = document.createElement('div');
    row.className = 'choose';
    bar.style.display = 'contents';
    row.append(bar, copy);
    block.prepend(row);
  } else {
    block.prepend(bar);
  }
  block.classList.add('on');
});
choose(remembered());

// Search looks at the whole text of guides and reference. Sections whose title has the words come first.
const box = document.getElementById('search'), results = document.getElementById('results');
let index;
async function search() {
  index ??= fetch('/docs/search.json').then((r) => r.json()).catch(() => { index = undefined; return []; });
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (const s of words.length ? await index : []) {
    const title = `${s.title} ${s.page}`.toLowerCase(), text = s.text.toLowerCase();
    if (!words.every((w) => title.includes(w) || text.includes(w))) continue;
    const inTitle = words.filter((w) => title.includes(w)).length;
    const often = words.reduce((n, w) => n + Math.min(5, text.split(w).length - 1), 0);
    found.push({ s, at: Math.max(0, text.indexOf(words[0])), score: 10 * inTitle + often });
  }
  found.sort((a, b) => b.score - a.score);
  results.replaceChildren(...found.slice(0, 12).map(({ s, at }) => {
    const item = document.createElement('li'), a = document.createElement('a'), small = document.createElement('small');
    a.href = s.url;
    a.textContent = s.title === s.page ? s.title : `${s.title} · ${s.page}`;
    small.textContent = s.text.slice(Math.max(0, at - 20), at + 100);
    a.append(small);
    item.append(a);
    return item;
  }));
  if (words.length && !found.length) {
    const none = document.createElement('li');
    none.textContent = 'No matches.';
    results.append(none);
  }
  results.hidden = !words.length;
}
box.closest('.search').hidden = false;
box.addEventListener('input', search);
box.addEventListener('keydown', (e) => { if (e.key === 'Enter') results.querySelector('a')?.click(); });
document.addEventListener('keydown', (e) => {
  if (e.key !== '/' || e.ctrlKey || e.metaKey || document.activeElement.tagName === 'INPUT') return;
  e.preventDefault();
  menu.open = true;
  box.focus();
});
