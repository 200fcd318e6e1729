// What makes the dashboard's pages faster and nicer. They work without it.
(() => {
  'use strict';
  const root = document.documentElement;
  root.classList.add('js');
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
  const words = () => JSON.parse(document.body.dataset.words || '{}');
  const say = (key, values = {}) => (words()[key] || key).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
  const kept = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* not kept */ } };

  // A short message that screen readers read too.
  const toast = (text) => {
    $('.toast')?.remove();
    const box = document.createElement('div');
    box.className = 'toast';
    box.setAttribute('role', 'status');
    ($('dialog[open]') || document.body).append(box);
    box.textContent = text;
    setTimeout(() => box.remove(), 2500);
  };

  // Copying
  const copy = async (button) => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.classList.add('done');
      setTimeout(() => button.classList.remove('done'), 1500);
      toast(say('copied'));
    } catch { toast(say('copy_failed')); }
  };

  // The theme is kept in a cookie, so that the server sends the next page in it.
  const toggleTheme = () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    document.cookie = `cascada_theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
    redraw();
  };

  // Times in the visitor's own zone, as titles.
  const localTimes = (from) => {
    const write = new Intl.DateTimeFormat(document.body.dataset.lang, { dateStyle: 'medium', timeStyle: 'short', });
    for (const time of $$('time[datetime*="T"]', from)) {
      const at = new Date(time.dateTime);
      if (!isNaN(at)) time.title = say('local', { time: write.format(at) });
    }
  };

  // Charts. uPlot is loaded when a page has the first one.
  let loading;
  const uplot = () => loading ||= new Promise((resolve, reject) => {
    const style = document.createElement('link');
    style.rel = 'stylesheet';
    style.href = document.body.dataset.uplotStyle;
    const script = document.createElement('script');
    script.src = document.body.dataset.uplot;
    script.onload = () => resolve(window.uPlot);
    script.onerror = reject;
    document.head.append(style, script);
  });
  const drawn = new Map(); // the chart of each area
  const height = (area) => parseFloat(getComputedStyle(area).getPropertyValue('--plot')); // the legend stands below it
  const fit = (area, plot) => plot.setSize({ width: area.clientWidth, height: height(area) });
  // A point between two gaps is no line: it is drawn by itself.
  const alone = (u, i) => u.data[i].flatMap((v, n, all) => v != null && all[n - 1] == null && all[n + 1] == null ? [n] : []);
  const draw = (area, uPlot) => {
    const chart = JSON.parse(area.dataset.chart), scale = 10 ** chart.decimals;
    drawn.get(area)?.destroy();
    area.hidden = false;
    const colour = (name) => getComputedStyle(root).getPropertyValue('--' + name).trim();
    const lang = document.body.dataset.lang;
    const number = new Intl.NumberFormat(lang, { minimumFractionDigits: chart.decimals, maximumFractionDigits: chart.decimals });
    const short = new Intl.NumberFormat(lang, { notation: 'compact', maximumFractionDigits: 1 });
    const monthName = new Intl.DateTimeFormat(lang, { month: 'short', timeZone: 'UTC' });
    const clock = (s) => new Date(s * 1e3).toISOString().slice(11, 16);
    const date = (s) => new Date(s * 1e3).getUTCDate() + ' ' + monthName.format(s * 1e3).replace('.', ''); // as the server writes it
    const tick = chart.hours ? clock : date, moment = (s) => chart.hours ? `${date(s)}, ${clock(s)}` : date(s);
    const gap = (chart.times[1] - chart.times[0]) || 86400;
    const unit = chart.unit ? '\u00a0' + chart.unit : '';
    const axis = { stroke: colour('quiet'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' };
    const whole = [...Array(16).keys()].flatMap((n) => [1, 2, 5].map((step) => step * 10 ** n)); // no half payments
    const bars = chart.kind === 'bars' && uPlot.paths.bars({ size: [.6, 40], radius: .15 });
    const plot = new uPlot({
      width: area.clientWidth, height: height(area), cursor: { drag: { x: false, y: false }, y: false, points: { size: 7 } }, padding: [8, 8, 0, 0],
      scales: { x: { time: true, ...(bars && { range: (u, low, high) => [low - gap / 2, high + gap / 2] }) }, y: { range: (u, low, high) => [Math.min(0, low ?? 0), chart.unit === '%' ? Math.max(100, high ?? 0) : (high ?? 0) > 0 ? high * 1.08 : 1] } },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), 'Etc/UTC'),
      legend: { markers: { width: 0, fill: (u, i) => colour(chart.series[i - 1]?.tone) } },
      axes: [
        { ...axis, size: 30, grid: { show: false }, values: (u, splits) => splits.map(tick), space: 64 },
        { ...axis, size: 58, ...(!chart.decimals && { incrs: whole }), values: (u, splits) => splits.map((v) => short.format(v) + (chart.unit === '%' ? '%' : '')) },
      ],
      series: [
        { value: (u, s) => s == null ? '–' : moment(s) },
        ...chart.series.map((s, i) => ({
          label: s.name, show: true, stroke: colour(s.tone), width: bars ? 0 : 2, points: { show: !bars, size: 6, filter: alone }, spanGaps: false,
          fill: bars ? colour(s.tone) : chart.kind === 'area' && i === 0 ? colour(s.tone) + '1f' : undefined, ...(bars && { paths: bars }),
          value: (u, v) => v == null ? '–' : number.format(v) + unit,
        })),
      ],
    }, [chart.times, ...chart.series.map((s) => s.values.map((v) => v == null ? null : v / scale))], area);
    $('.u-legend', area)?.setAttribute('aria-hidden', 'true'); // readers have the table of the same numbers
    drawn.set(area, plot);
  };
  const charts = async (from) => {
    const areas = $$('[data-chart]', from).filter((a) => !drawn.has(a) && JSON.parse(a.dataset.chart).times.length > 0);
    for (const gone of [...drawn.keys()].filter((a) => !a.isConnected)) { drawn.get(gone).destroy(); drawn.delete(gone); }
    if (!areas.length) return;
    const uPlot = await uplot();
    for (const area of areas) if (area.isConnected) { draw(area, uPlot); resized.observe(area); }
  };
  const redraw = () => drawn.forEach((plot, area) => area.isConnected && draw(area, window.uPlot));
  const resized = new ResizeObserver((seen) => seen.forEach(({ target }) => {
    const plot = drawn.get(target);
    if (plot && target.clientWidth && plot.width !== target.clientWidth) fit(target, plot);
  }));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);

  // On a screen that has become wide the navigation stands beside the page.
  matchMedia('(min-width: 62rem)').addEventListener('change', () => { if ($('#side:popover-open')) $('#side').hidePopover(); });

  // Forms that were changed
  let previewing; // the timer of a preview
  const changed = () => $$('form[data-guard]').some((form) => form.dataset.changed);
  document.addEventListener('input', (e) => { if (e.target.form?.hasAttribute('data-guard')) e.target.form.dataset.changed = 'yes'; });
  document.addEventListener('submit', (e) => {
    if (e.submitter?.hasAttribute('data-preview')) return;
    // A form that is sent again before its answer arrives would carry a cookie and a code that the first one has used up.
    if (e.target.matches('[method=post][hx-boost=false]:not([data-passkey])')) {
      if (e.target.dataset.sent) return e.preventDefault();
      const form = e.target;
      form.dataset.sent = 'yes';
      setTimeout(() => { delete form.dataset.sent; }, 10e3); // who stopped the request may send the form again
    }
    delete e.target.dataset.changed;
    clearTimeout(previewing);
  });
  addEventListener('pageshow', () => $$('form[data-sent]').forEach((form) => { delete form.dataset.sent; })); // back again
  addEventListener('beforeunload', (e) => { if (changed()) e.preventDefault(); });

  // What is typed is shown at once by a form's button with data-preview, which sends the form into a frame.
  document.addEventListener('input', (e) => {
    const button = e.target.form && $('button[data-preview]', e.target.form);
    if (!button) return;
    clearTimeout(previewing);
    previewing = setTimeout(() => { if (button.isConnected) button.form.requestSubmit(button); }, 250);
  });

  // A colour picker and the field with the same colour follow each other.
  document.addEventListener('input', (e) => {
    const field = e.target.dataset.mirror && document.getElementById(e.target.dataset.mirror);
    if (field) {
      field.value = e.target.value;
      field.dispatchEvent(new Event('input', { bubbles: true }));
      return;
    }
    const picker = e.target.id && $(`[data-mirror="${CSS.escape(e.target.id)}"]`);
    if (picker && /^#[0-9a-f]{6}$/i.test(e.target.value)) picker.value = e.target.value;
  });

  // The palette: actions of this page, all pages, and a search
  const palette = {
    entries() {
      const label = (e) => (e.getAttribute('aria-label') || [...e.childNodes].filter((n) => n.nodeType === 3 || !n.matches('small, kbd, dialog')).map((n) => n.firstChild?.nodeType === 3 ? n.firstChild.data : n.textContent).join(' ')).trim().replace(/\s+/g, ' ');
      const pages = [...$$('.side [data-nav], [data-quick]'), ...$$('.bar .menu-list a, .switch a, .switcher a').filter((a) => !a.hasAttribute('aria-current'))];
      const actions = $$('.head .actions :is(a, button), [data-action]').filter((e) => !e.closest('dialog'));
      return [...actions, ...pages].map((e) => ({ label: label(e), icon: $('.icon', e), detail: (e.closest('.side-group')?.querySelector('h2') || $('small', e))?.textContent || '', go: () => e.click() }));
    },
    fill() {
      const box = $('#palette'), input = $('input', box), list = $('#palette-list'), text = input.value.trim();
      const plain = (s) => s.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
      const found = this.all.filter((e) => plain(e.label + ' ' + e.detail).includes(plain(text)));
      const search = $('.bar-search');
      if (text && search) found.push({ label: say('search_for', { text }), icon: $('.icon', search), detail: '', go: () => { $('input', search).value = text; search.requestSubmit(); } });
      list.replaceChildren(...found.map((e, i) => {
        const line = document.createElement('li'), small = document.createElement('small');
        line.id = 'palette-' + i;
        line.setAttribute('role', 'option');
        if (e.icon) line.append(e.icon.cloneNode(true));
        small.textContent = e.detail;
        line.append(e.label, small);
        line.addEventListener('click', () => { box.close(); e.go(); });
        return line;
      }));
      this.found = found;
      this.mark(0);
      $('[role=status]', box).textContent = found.length ? say('results', { n: found.length }) : say('no_results');
    },
    mark(i) {
      const lines = $$('#palette-list li'), input = $('#palette input');
      this.at = lines.length ? (i + lines.length) % lines.length : -1;
      lines.forEach((line, n) => line.setAttribute('aria-selected', n === this.at));
      if (this.at < 0) return input.removeAttribute('aria-activedescendant');
      input.setAttribute('aria-activedescendant', lines[this.at].id);
      lines[this.at].scrollIntoView({ block: 'nearest' });
    },
    open() {
      const box = $('#palette');
      if (!box || box.open) return;
      $$('dialog[open]').forEach((d) => d.close());
      this.all = this.entries();
      $('input', box).value = '';
      box.showModal();
      this.fill();
    },
    key(e) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (step) { e.preventDefault(); this.mark(this.at + step); }
      if (e.key === 'Enter' && this.at >= 0) { e.preventDefault(); $('#palette').close(); this.found[this.at].go(); }
    },
  };
  const openDialog = (id) => {
    if (id === 'palette') return palette.open();
    const box = document.getElementById(id);
    box?.showModal();
    if (id === 'shortcuts') $('[data-keys-toggle]', box).checked = kept('cascada_keys') !== 'off';
  };

  // Shortcuts. Those of one key can be switched off (WCAG 2.1.4).
  const letters = { h: 'home', p: 'payments', r: 'refunds', d: 'disputes', b: 'balance', k: 'keys', w: 'webhooks' };
  let going = 0;
  document.addEventListener('keydown', (e) => {
    if ((e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey && e.key.toLowerCase() === 'k') { e.preventDefault(); return palette.open(); }
    if (e.target.closest?.('#palette')) return palette.key(e);
    if (e.key === 'Escape') {
      const menu = $('details.menu[open]');
      if (menu) { menu.open = false; $('summary', menu).focus(); }
    }
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || kept('cascada_keys') === 'off' || $('dialog[open]') ||
      e.target.closest?.('input, select, textarea, [contenteditable]')) return;
    if (going > Date.now()) {
      going = 0;
      const link = letters[e.key] && $(`[data-nav="${letters[e.key]}"]`);
      if (link) { e.preventDefault(); link.click(); }
      return;
    }
    if (e.key === 'g') going = Date.now() + 1500;
    if (e.key === '/' && $('#search')) {
      e.preventDefault();
      if ($('#search').checkVisibility()) $('#search').focus(); else palette.open();
    }
    if (e.key === '?' && $('#shortcuts')) { e.preventDefault(); openDialog('shortcuts'); }
  });

  document.addEventListener('click', (e) => {
    for (const menu of $$('details.menu[open]')) if (!menu.contains(e.target) || e.target.closest('.menu-list :is(a, button)')) menu.open = false;
    const on = (selector) => e.target.closest?.(selector);
    let el;
    if ((el = on('[data-copy]'))) copy(el);
    if ((el = on('[data-dialog]')) && document.getElementById(el.dataset.dialog)) { e.preventDefault(); e.stopPropagation(); openDialog(el.dataset.dialog); }
    if ((el = on('[data-close]'))) el.closest('dialog').close();
    if (on('[data-theme-toggle]')) toggleTheme();
    if ((el = on('[data-reveal]'))) {
      const input = document.getElementById(el.dataset.reveal), show = input.type === 'password';
      input.type = show ? 'text' : 'password';
      el.setAttribute('aria-pressed', show);
    }
    if (e.target.matches?.('dialog') && e.target.open) { // a click beside it
      const box = e.target.getBoundingClientRect();
      if (e.clientX < box.left || e.clientX > box.right || e.clientY < box.top || e.clientY > box.bottom) e.target.close();
    }
  }, true);
  document.addEventListener('input', (e) => { if (e.target.closest('#palette')) palette.fill(); });
  document.addEventListener('change', (e) => { if (e.target.matches('[data-keys-toggle]')) keep('cascada_keys', e.target.checked ? 'on' : 'off'); });

  // htmx follows links. Readers hear the new page: its heading gets the focus.
  let pending = 0;
  const line = (n) => { pending = Math.max(0, pending + n); const bar = $('.progress-line'); if (bar) bar.hidden = !pending; };
  const whole = (ctx) => ctx?.target === document.body;
  document.addEventListener('htmx:config:request', (e) => {
    const { ctx } = e.detail;
    if (whole(ctx) && ctx.request.method === 'GET' && changed()) {
      if (confirm(say('leave'))) $$('form[data-guard]').forEach((form) => delete form.dataset.changed); else e.preventDefault();
    }
  });
  document.addEventListener('htmx:before:request', (e) => { if (whole(e.detail.ctx)) line(1); });
  document.addEventListener('htmx:finally:request', (e) => { if (whole(e.detail.ctx)) line(-1); });
  document.addEventListener('htmx:error', () => toast(say('offline')));
  document.addEventListener('htmx:after:request', (e) => { // another build has other assets: its pages are loaded whole
    const { ctx } = e.detail, build = whole(ctx) && / data-build="(\w+)"/.exec(ctx.text);
    if (whole(ctx) && !ctx.hx?.redirect && (!build || build[1] !== document.body.dataset.build)) {
      e.preventDefault();
      if (ctx.request.method === 'GET' || ctx.response.raw.redirected) location.href = ctx.response.raw.url; else document.body.innerHTML = ctx.text;
    }
  });
  document.addEventListener('htmx:after:swap', (e) => {
    const { ctx } = e.detail;
    if (!whole(ctx)) return;
    root.lang = document.body.dataset.lang;
    if (!document.activeElement?.matches('[autofocus]')) ($('h1[tabindex]') || $('main'))?.focus({ preventScroll: true });
    if (ctx.request?.headers?.['HX-History-Restore-Request'] || ctx.request?.anchor) return;
    scrollTo(0, 0);
  });
  // Passkeys, and files that are about to be sent. Their scripts are loaded when a page has the first of them.
  const scripts = {};
  const dressed = async (from, selector, address, dressing) => {
    const found = $$(selector + ':not([data-ready])', from);
    if (!found.length) return;
    found.forEach((e) => { e.dataset.ready = 'yes'; });
    await (scripts[address] ||= new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = document.body.dataset[address];
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    }));
    found.forEach((e) => window[dressing](e, say));
  };
  const dress = (from) => {
    localTimes(from);
    charts(from);
    dressed(from, 'form[data-passkey]', 'passkeys', 'cascadaPasskey');
    dressed(from, 'input[data-files]', 'files', 'cascadaFiles');
  };
  document.addEventListener('htmx:after:process', (e) => dress(e.target.closest ? e.target : document));
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', () => dress(document)); else dress(document);
})();
