// The page works without this. It adds search, copying, and a mark at the
// reader's position.
'use strict';

const find = document.getElementById('find');
const menu = document.querySelector('.menu');
const wide = matchMedia('(min-width: 60rem)');

// On a phone the contents are closed until the reader opens them.
function fit() { menu.open = wide.matches; }
fit();
wide.addEventListener('change', fit);
menu.addEventListener('click', (e) => {
  if (e.target.closest('a') && !wide.matches) menu.open = false;
});

// The whole text is searched: texts has that of each part, by its anchor.
let texts;
async function read() {
  const sections = await fetch('/docs/search.json').then((r) => r.json()).catch(() => []);
  return new Map(sections.filter((s) => s.url.startsWith('/docs#')).map((s) => [s.url.slice(6), s.text.toLowerCase()]));
}
find.parentElement.hidden = false;
find.addEventListener('input', async () => {
  texts ??= read();
  const known = await texts;
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let any = false;
  for (const section of menu.querySelectorAll('section')) {
    let shown = false;
    const group = section.querySelector('h2').textContent.toLowerCase();
    for (const item of section.querySelectorAll('li')) {
      const text = group + ' ' + item.textContent.toLowerCase() + ' ' + (known.get(item.querySelector('a').getAttribute('href').slice(1)) || '');
      item.hidden = !words.every((w) => text.includes(w));
      shown = shown || !item.hidden;
    }
    section.hidden = !shown;
    any = any || shown;
  }
  menu.querySelector('.none').hidden = any || words.length === 0;
});
document.addEventListener('keydown', (e) => {
  if (e.key === '/' && !e.ctrlKey && !e.metaKey && document.activeElement.tagName !== 'INPUT') {
    e.preventDefault();
    menu.open = true;
    find.focus();
  }
  if (e.key === 'Enter' && document.activeElement === find) {
    const first = menu.querySelector('section:not([hidden]) li:not([hidden]) a');
    if (first) first.click();
  }
});

if (navigator.clipboard) {
  for (const caption of document.querySelectorAll('figcaption')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.setAttribute('aria-label', 'Copy: ' + caption.textContent);
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(caption.parentElement.querySelector('code').textContent);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
    caption.append(button);
  }
}

const links = new Map();
for (const a of menu.querySelectorAll('a')) links.set(a.getAttribute('href').slice(1), a);
let here;
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const link = links.get(entry.target.id);
    if (!entry.isIntersecting || !link || link === here) continue;
    if (here) here.removeAttribute('aria-current');
    here = link;
    here.setAttribute('aria-current', 'true');
    const box = here.getBoundingClientRect();
    const side = menu.parentElement;
    if (wide.matches && (box.top < 80 || box.bottom > innerHeight - 20)) side.scrollTop += box.top - innerHeight / 2;
  }
}, { rootMargin: '-12% 0px -80% 0px' });
for (const target of document.querySelectorAll('article[id], section[id]')) seen.observe(target);
