// Asks the providers' own libraries about the records of the adapters' tests, in the folder that is the first argument.
// Notifications that the libraries sign go to signed.jsonl there, for main.go.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { open } from './types.mjs';
import { known, made } from './known.mjs';

const require = createRequire(import.meta.url);
const records = process.argv[2];
const lines = (name) => readFileSync(`${records}/${name}.jsonl`, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const version = (name) => `${name} ${JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version}`;
const types = open(new URL('calls.ts', import.meta.url).pathname);
const only = (e, name) => (e.Header[name] ?? [''])[0];

const { default: HmacValidator } = require('@adyen/api-library/lib/src/utils/hmacValidator.js');
const adyenTypes = require('@adyen/api-library/lib/src/typings/checkout/models.js');
const adyenDisputes = require('@adyen/api-library/lib/src/typings/disputes/models.js');
const Stripe = require('stripe');
const { WebhookSignatureValidator } = require('mercadopago');

// tree reads a form: a[b][0]=c.
function tree(text) {
  const root = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const steps = name.replace(/\]/g, '').split('[');
    let at = root;
    steps.forEach((step, i) => {
      if (step === '') step = Object.keys(at).length;
      at = i === steps.length - 1 ? (at[step] = value) : (at[step] ??= {});
    });
  }
  return root;
}

// parts reads a form in parts: a file is an object with its name, type and content.
function parts(e) {
  const boundary = /boundary="?([^";]+)/.exec(only(e, 'Content-Type'))[1];
  const root = {};
  for (const part of e.Body.split(`--${boundary}`).slice(1, -1)) {
    const [head, ...rest] = part.split('\r\n\r\n');
    const data = rest.join('\r\n\r\n').replace(/\r\n$/, '');
    const named = (what) => new RegExp(`[ ;]${what}="?([^";\\r]+)`).exec(head)?.[1];
    root[named('name')] = named('filename') ? { name: named('filename'), type: /Content-Type: (.+)/i.exec(head)[1].trim(), data } : data;
  }
  return root;
}

// find returns the call of a request.
function find(table, e) {
  const got = e.Path.split('/');
  const fits = [...table.keys()].filter((call) => {
    const [method, path] = call.split(' ');
    const want = path?.split('/') ?? [];
    return method === e.Method && want.length === got.length && want.every((part, i) => part === '{id}' || part === got[i]);
  });
  return fits.sort((a, b) => a.split('{').length - b.split('{').length)[0];
}

// woovi is Woovi's own receiver, with the key of the tests in the place of Woovi's, whose private half only Woovi has.
function woovi(publicKey) {
  const file = require.resolve('@woovi/node-sdk');
  const text = readFileSync(file, 'utf8');
  const with_key = text.replace(/(WH_PUBLIC_KEY = )"[^"]+"/, (_, name) => `${name}"${Buffer.from(publicKey).toString('base64')}"`);
  if (with_key === text) throw new Error('Woovi\'s library has no key where it had one');
  const m = new (require('node:module'))(file);
  m.paths = require.resolve.paths('axios');
  m._compile(with_key, file);
  return m.exports.createClient({ appId: 'x' }).webhook.handler({});
}

// receive verifies a notification with a library, and returns the same signed by it if it can sign. It throws if it refuses.
const receive = {
  adyen(e, { hmacKey }) {
    const validator = new HmacValidator();
    const body = JSON.parse(e.Body);
    for (const { NotificationRequestItem: item } of body.notificationItems) {
      if (!validator.validateHMAC(item, hmacKey)) throw new Error('the signature is not valid');
      delete item.additionalData.hmacSignature;
      item.additionalData.hmacSignature = validator.calculateHmac(item, hmacKey);
    }
    return { ...e, Body: JSON.stringify(body) };
  },
  stripe(e, { webhookSecret }) {
    const stripe = new Stripe('sk_test_x');
    const timestamp = Number(/t=(\d+)/.exec(only(e, 'Stripe-Signature'))[1]);
    const v2 = JSON.parse(e.Body).object === 'v2.core.event';
    const verify = (header) => v2
      ? stripe.parseEventNotification(e.Body, header, webhookSecret, 300, undefined, timestamp * 1000)
      : stripe.webhooks.constructEvent(e.Body, header, webhookSecret, 300, undefined, timestamp * 1000);
    verify(only(e, 'Stripe-Signature'));
    const header = stripe.webhooks.generateTestHeaderString({ payload: e.Body, secret: webhookSecret, timestamp });
    verify(header);
    return { ...e, Header: { ...e.Header, 'Stripe-Signature': [header] } };
  },
  mercadopago(e, { webhookSecret }) {
    WebhookSignatureValidator.validate({
      xSignature: only(e, 'X-Signature'), xRequestId: only(e, 'X-Request-Id'), dataId: (e.Asked?.['data.id'] ?? [])[0], secret: webhookSecret,
    });
  },
  async woovi(e, { publicKey }) {
    const said = await woovi(publicKey).POST(new Request('https://shop.test', { method: 'POST', body: e.Body, headers: { 'x-webhook-signature': only(e, 'X-Webhook-Signature') } }));
    const text = await said.text();
    if (/signature/i.test(text)) throw new Error(text);
  },
};

// unsigned are notifications that a provider does not sign: the adapter asks about each.
const unsigned = { mercadopago: (e) => !only(e, 'X-Signature') };

// tampered is a notification that somebody has changed.
const tampered = (name, e) => (name === 'mercadopago'
  ? { ...e, Asked: { ...e.Asked, 'data.id': ['5000000999'] } }
  : { ...e, Body: e.Body.replace(name === 'adyen' ? /"pspReference":"/ : /":"/, '$&9') });

// kept says what Adyen's own serializer loses of what we send, and of what its fake answers.
function kept(type, value) {
  const { ObjectSerializer } = adyenDisputes[type] ? adyenDisputes : adyenTypes;
  const read = ObjectSerializer.deserialize(value, type);
  const again = JSON.parse(JSON.stringify(ObjectSerializer.serialize(read, type)));
  const lost = (a, b, at) => {
    if (a === null || typeof a !== 'object') return a === b || Date.parse(a) === Date.parse(b) ? [] : [`the serializer makes ${JSON.stringify(b)} of ${at} ${JSON.stringify(a)}`];
    return Object.keys(a).flatMap((k) => (b?.[k] === undefined ? [`the serializer loses ${at}.${k}`] : lost(a[k], b[k], `${at}.${k}`)));
  };
  return lost(value, again, type);
}
const adyenNames = {
  'POST /payments': ['PaymentRequest', 'PaymentResponse'], 'POST /payments/{id}/refunds': ['PaymentRefundRequest', 'PaymentRefundResponse'],
  'POST /paymentLinks': ['PaymentLinkRequest', 'PaymentLinkResponse'], 'PATCH /paymentLinks/{id}': ['UpdatePaymentLinkRequest', 'PaymentLinkResponse'],
  'GET /paymentLinks/{id}': [undefined, 'PaymentLinkResponse'], 'POST /paymentMethods': ['PaymentMethodsRequest', 'PaymentMethodsResponse'],
  'POST /retrieveApplicableDefenseReasons': ['DefenseReasonsRequest', 'DefenseReasonsResponse'], 'POST /supplyDefenseDocument': ['SupplyDefenseDocumentRequest', 'SupplyDefenseDocumentResponse'],
  'POST /deleteDisputeDefenseDocument': ['DeleteDefenseDocumentRequest', 'DeleteDefenseDocumentResponse'], 'POST /defendDispute': ['DefendDisputeRequest', 'DefendDisputeResponse'],
};

let failed = false;
const signed = [];
for (const [name, library] of Object.entries({ adyen: '@adyen/api-library', conekta: 'conekta', mercadopago: 'mercadopago', stripe: 'stripe', woovi: '@woovi/node-sdk' })) {
  const table = types.calls(name);
  const found = new Map();
  const seen = new Map();
  const count = { calls: 0, kinds: new Set(), notices: 0, verified: 0, bare: 0, signed: 0 };
  const all = lines(name);
  const credentials = Object.assign({}, ...all.filter((e) => e.Credentials).map((e) => e.Credentials).sort((a, b) => Object.keys(a).length - Object.keys(b).length));
  const words = made[name];
  const note = (list) => list.forEach((what) => found.set(what, (found.get(what) ?? 0) + 1));
  // once: most calls differ from another in their numbers alone.
  const once = (key, value, check) => {
    const shape = key + JSON.stringify(value).replace(/\d/g, '0');
    if (!seen.has(shape)) seen.set(shape, check().map((w) => `${key}: ${w}`));
    note(seen.get(shape));
  };
  for (const e of all) {
    if (e.Credentials) continue;
    if (e.Notice) {
      count.notices++;
      const body = JSON.parse(e.Body);
      if (table.has('notice')) once('notice body', body, () => types.check(table.get('notice').body, body, { words }));
      if (!receive[name]) continue;
      if (unsigned[name]?.(e)) { count.bare++; continue; }
      try {
        const again = await receive[name](e, credentials);
        count.verified++;
        if (again) { count.signed++; signed.push({ ...again, Adapter: name, Credentials: credentials }); }
      } catch (err) {
        note([`a notification is refused: ${err.message}`]);
      }
      try {
        await receive[name](tampered(name, e), credentials);
        note(['a changed notification is accepted']);
      } catch { /* as it should be */ }
      continue;
    }
    count.calls++;
    const call = find(table, e);
    if (!call) { note([`${e.Method} ${e.Path}: no such call`]); continue; }
    count.kinds.add(call);
    const { query, body, answer } = table.get(call);
    const inParts = only(e, 'Content-Type').startsWith('multipart/form-data');
    const form = inParts || only(e, 'Content-Type').startsWith('application/x-www-form-urlencoded');
    const [request, reply] = (name === 'adyen' && adyenNames[call]) || [];
    if (e.Query) { const v = tree(e.Query); once(`${call} query`, v, () => (query ? types.check(query, v, { form: true, sent: true }) : ['it has none'])); }
    if (e.Body) {
      const v = inParts ? parts(e) : form ? tree(e.Body) : JSON.parse(e.Body);
      once(`${call} body`, v, () => (body ? types.check(body, v, { form, sent: true }) : Object.keys(v).length ? ['it has none'] : []));
      if (request) once(`${call} body`, [v], () => kept(request, v));
    }
    if (e.Status >= 200 && e.Status < 300 && e.Answer) {
      const v = JSON.parse(e.Answer);
      once(`${call} answer`, v, () => types.check(answer, v, { words }));
      if (reply) once(`${call} answer`, [v], () => kept(reply, v));
    }
    if (name === 'stripe' && only(e, 'Stripe-Version') !== new Stripe('x').getApiField('version')) note([`the version is ${only(e, 'Stripe-Version')}`]);
  }
  note([...table.keys()].filter((call) => call !== 'notice' && !count.kinds.has(call)).map((call) => `${call}: it was not played`));
  console.log(`${name}: ${count.calls} calls of ${count.kinds.size} kinds and ${count.notices} notifications against the types of ${version(library)}`
    + (receive[name] ? `, which verified ${count.verified}` : ', which verifies none') + (count.signed ? ` and signed ${count.signed}` : '') + (count.bare ? `; ${count.bare} have no signature` : ''));
  for (const [what, where, why] of known[name]) {
    const hits = [...found].filter(([w]) => where.test(w));
    hits.forEach(([w]) => found.delete(w));
    if (hits.length === 0) { failed = true; console.log(`  not needed any more: ${what}`); }
    else console.log(`  known: ${what} (${hits.reduce((n, [, k]) => n + k, 0)} times): ${why}`);
  }
  for (const [what, n] of [...found].sort()) { failed = true; console.log(`  refused ${n} times: ${what}`); }
}
writeFileSync(`${records}/signed.jsonl`, signed.map((e) => JSON.stringify(e) + '\n').join(''));
process.exit(failed ? 1 : 0);
