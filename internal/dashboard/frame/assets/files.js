// Files that a form is about to send. They are shown, can be removed again, and the page says at once which cannot be sent.
// app.js loads this where a page has such a field. The server checks each file again.
//   data-files           the most bytes of one file
//   data-files-together  the most bytes of all files of the form
// A file from elsewhere never runs in our origin: a picture is drawn on a canvas, a PDF opens in a tab of its own under the
// type that its first bytes prove, and every other file only has its name here.
(() => {
  'use strict';
  const kinds = [['application/pdf', '%PDF-'], ['image/png', '\x89PNG\r\n\x1a\n'], ['image/jpeg', '\xff\xd8\xff']];
  const texts = /\.(txt|csv|log|md)$/i;
  const kindOf = async (file) => {
    const head = String.fromCharCode(...new Uint8Array(await file.slice(0, 8).arrayBuffer()));
    return kinds.find(([, begin]) => head.startsWith(begin))?.[0] || (texts.test(file.name) ? 'text/plain' : '');
  };
  const sizeOf = (bytes) => bytes < 1e6 ? `${Math.max(1, Math.floor(bytes / 1e3))} kB` : `${Math.floor((bytes + 5e5) / 1e6)} MB`;
  const element = (name, properties = {}, ...inside) => {
    const e = Object.assign(document.createElement(name), properties);
    e.append(...inside);
    return e;
  };

  // A picture as a small drawing of it.
  const draw = async (canvas, file) => {
    const picture = await createImageBitmap(file), scale = Math.min(canvas.width / picture.width, canvas.height / picture.height, 1);
    const width = Math.max(1, picture.width * scale), height = Math.max(1, picture.height * scale);
    canvas.getContext('2d').drawImage(picture, (canvas.width - width) / 2, (canvas.height - height) / 2, width, height);
    picture.close();
    canvas.dataset.drawn = 'yes';
  };

  window.cascadaFiles = (input, say) => {
    const list = element('ul', { className: 'files' }), alert = element('p', { className: 'error' });
    alert.setAttribute('role', 'alert');
    input.after(list, alert);
    let kept = []; // { file, kind, address }

    const hold = (files) => {
      const all = new DataTransfer();
      files.forEach((file) => all.items.add(file));
      input.files = all.files;
    };
    const together = () => [...input.form.querySelectorAll('[data-files]')].reduce((sum, i) => sum + [...i.files].reduce((n, f) => n + f.size, 0), 0);
    const remove = (one) => {
      kept = kept.filter((other) => other !== one);
      if (one.address) URL.revokeObjectURL(one.address);
      hold(kept.map((k) => k.file));
      alert.textContent = '';
      show();
      input.focus();
    };
    const line = (one) => {
      const box = element('span', { className: 'files-face' }), name = element('span', { className: 'files-name' }, one.file.name);
      if (one.kind.startsWith('image/')) {
        const canvas = element('canvas', { width: 128, height: 128 });
        canvas.setAttribute('aria-hidden', 'true');
        box.append(canvas);
        draw(canvas, one.file).catch(() => canvas.replaceWith(say('picture_broken')));
      } else box.append(one.kind === 'application/pdf' ? 'PDF' : 'TXT');
      const about = element('span', { className: 'files-about' }, name, element('span', { className: 'quiet small' }, sizeOf(one.file.size)));
      const buttons = element('span', { className: 'files-buttons' }), item = element('li', {}, box, about, buttons);
      if (one.kind === 'application/pdf') {
        one.address ||= URL.createObjectURL(new Blob([one.file], { type: one.kind }));
        const open = element('a', { className: 'button small', href: one.address, target: '_blank', rel: 'noopener' }, say('file_open'));
        open.setAttribute('hx-boost', 'false');
        open.setAttribute('aria-label', `${say('file_open')}: ${one.file.name}`);
        buttons.append(open);
      }
      const away = element('button', { type: 'button', className: 'button small' }, say('file_remove'));
      away.setAttribute('aria-label', `${say('file_remove')}: ${one.file.name}`);
      away.addEventListener('click', () => remove(one));
      buttons.append(away);
      return item;
    };
    const show = () => list.replaceChildren(...kept.map(line));

    // What is wrong with a file: the key of a word.
    const wrongWith = (file, kind) => {
      if (!file.size) return 'file_empty';
      if (file.size > input.dataset.files) return 'file_too_large';
      if (!kind) return 'file_bad_type';
      return together() > input.dataset.filesTogether ? 'files_too_large' : '';
    };
    const take = async () => {
      const came = [...input.files].filter((f) => !kept.some((k) => k.file.name === f.name && k.file.size === f.size && k.file.lastModified === f.lastModified));
      hold([...kept.map((k) => k.file), ...came]); // a form that is sent meanwhile sends all of them
      const wrong = [];
      for (const file of came) {
        const kind = await kindOf(file).catch(() => ''), key = wrongWith(file, kind);
        if (!key) {
          kept.push({ file, kind });
          continue;
        }
        wrong.push(say(key, { name: file.name }));
        hold([...input.files].filter((f) => f !== file));
      }
      alert.textContent = wrong.join(' ');
      show();
    };
    input.addEventListener('change', take);
    addEventListener('pagehide', (e) => { if (!e.persisted) kept.forEach((k) => k.address && URL.revokeObjectURL(k.address)); }, { once: true });
    if (input.files.length) take(); // the browser kept them over a reload
  };
})();
