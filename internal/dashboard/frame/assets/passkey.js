// Passkeys (WebAuthn). A form asks the server for a challenge, lets the browser answer it, and sends the answer. app.js
// loads this where a page has such a form.
//   data-passkey    sign-in, prove or add
//   data-host       the host that passkeys belong to
//   data-challenge  where to get a challenge
// The form is hidden until it is known that the browser can do it. [data-passkey-elsewhere] is shown where the page has
// another name than its passkeys, and [data-passkey-unable] where the browser has none.
(() => {
  'use strict';
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
  const text = (buffer) => btoa(Array.from(new Uint8Array(buffer), (b) => String.fromCharCode(b)).join('')).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  const show = (name) => document.querySelectorAll(`[data-passkey-${name}]`).forEach((e) => { e.hidden = false; });

  // What goes over the wire is JSON with base64url; what the browser takes and gives are bytes. Programs that keep
  // passkeys replace the browser's objects, so its own conversion may be missing.
  const read = (options) => {
    const named = (list) => list?.map((one) => ({ ...one, id: bytes(one.id) }));
    const o = { ...options, challenge: bytes(options.challenge) };
    if (o.user) o.user = { ...o.user, id: bytes(o.user.id) };
    if (o.excludeCredentials) o.excludeCredentials = named(o.excludeCredentials);
    if (o.allowCredentials) o.allowCredentials = named(o.allowCredentials);
    return o;
  };
  const write = (found) => {
    const r = found.response, response = { clientDataJSON: text(r.clientDataJSON) };
    for (const name of ['attestationObject', 'authenticatorData', 'signature', 'userHandle']) if (r[name]) response[name] = text(r[name]);
    if (r.getTransports) response.transports = r.getTransports();
    return JSON.stringify({ id: found.id, rawId: text(found.rawId), type: found.type, clientExtensionResults: {}, response });
  };

  window.cascadaPasskey = (form, say) => {
    if (location.hostname !== form.dataset.host) return show('elsewhere');
    if (!window.PublicKeyCredential) return show('unable');
    form.hidden = false;
    const kind = form.dataset.passkey, alert = form.querySelector('[role=alert]'), button = form.querySelector('button:not([type=button])');
    let pending; // ends what the browser waits for
    const tell = (key) => { alert.textContent = key ? say(key) : ''; alert.hidden = !key; };
    const challenge = async () => {
      const res = await fetch(form.dataset.challenge, { method: 'POST', headers: { Accept: 'application/json' } });
      if (res.redirected) return location.reload();
      if (!res.ok) throw new Error(res.statusText);
      return read((await res.json()).publicKey);
    };
    const send = (found) => {
      form.elements.answer.value = write(found);
      form.submit();
    };

    // The browser offers passkeys beside the saved passwords. A challenge is good for five minutes, and another tab
    // replaces it.
    const offer = async () => {
      if (!form.isConnected || button.disabled) return;
      pending?.abort();
      const waiting = pending = new AbortController();
      try {
        const publicKey = await challenge();
        if (!publicKey || waiting.signal.aborted) return;
        send(await navigator.credentials.get({ publicKey, mediation: 'conditional', signal: waiting.signal }));
      } catch { /* nothing was chosen: the button is there */ }
    };
    if (kind === 'sign-in') {
      PublicKeyCredential.isConditionalMediationAvailable?.().then((can) => {
        if (!can) return;
        offer();
        const again = setInterval(() => { if (form.isConnected) offer(); else clearInterval(again); }, 240e3);
        document.addEventListener('visibilitychange', () => { if (!document.hidden) offer(); });
      }).catch(() => { /* the button is there */ });
    }

    form.addEventListener('submit', async (e) => {
      e.preventDefault();
      pending?.abort();
      tell('');
      button.disabled = true;
      try {
        const publicKey = await challenge();
        if (!publicKey) return;
        send(await (kind === 'add' ? navigator.credentials.create({ publicKey }) : navigator.credentials.get({ publicKey })));
      } catch (err) {
        button.disabled = false;
        tell(err.name === 'NotAllowedError' || err.name === 'AbortError' ? 'passkey_none' : err.name === 'InvalidStateError' ? 'passkey_there' : 'passkey_failed');
      }
    });
  };
})();
