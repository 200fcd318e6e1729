#!/usr/bin/env bash
# Proves that Postman runs the collection that a service publishes: newman sends every GET of it, and each is answered with success.
# `make postman` calls this. `make test` does not: newman is 66 MB of packages. The collection's form and its requests are checked there by
# TestPostmanCollectionIsTheDocument.
#
# It needs Node.js and npm. Everything is kept in bin/postman, so a second run installs nothing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$(dirname "$here")")
work=$root/bin/postman
cascada=$root/bin/cascada
server=
data=

cleanup() {
  if [ -n "$server" ]; then
    kill -TERM "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  if [ -n "$data" ]; then rm -rf "$data"; fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

die() {
  echo "postman: $*" >&2
  exit 1
}

. "$root/spec/node.sh"
cp "$here/run.mjs" "$work/"

data=$(mktemp -d "${TMPDIR:-/tmp}/cascada-postman.XXXXXX")
: >"$data/log"
"$cascada" serve --allow-private-webhooks --listen 127.0.0.1:0 --database "sqlite:$data/postman.db" >"$data/log" 2>&1 &
server=$!
until url=$(sed -n 's/.*msg="cascada is ready" url=\([^ ]*\).*/\1/p' "$data/log") && key=$(sed -n 's/^ *secret *\(sk_test_.*\)/\1/p' "$data/log") && [ -n "$url" ] && [ -n "$key" ]; do
  kill -0 "$server" 2>/dev/null || die "the service ended: $(cat "$data/log")"
  sleep 0.05
done

# What there is to read: a webhook with deliveries and a replay, a settlement that has closed, a withdrawal, a dispute that waits for
# evidence, and a payment link. post makes something, and prints its id.
export CASCADA_URL=$url CASCADA_API_KEY=$key HOME=$data XDG_CONFIG_HOME=$data
post() {
  "$node" -e 'fetch(process.argv[1], { method: "POST", headers: { Authorization: `Bearer ${process.env.CASCADA_API_KEY}`, "Content-Type": "application/json" }, body: process.argv[2] })
    .then(async (r) => { const reply = await r.json(); if (!r.ok) throw new Error(JSON.stringify(reply)); console.log(reply.id); })' "$url/api/v1$1" "$2"
}
webhook=$(post /webhooks '{"events":["*"]}') || die 'no webhook was made'
for event in withdrawal.completed claim.opened; do
  "$cascada" trigger "$event" --move-clock >"$data/trigger.log" 2>&1 || die "$event: $(cat "$data/trigger.log")"
done
post "/webhooks/$webhook/replay" "{\"from\":\"$(date -u +%F)\"}" >/dev/null || die 'no replay was made'
post /payment-links '{"amount":5}' >/dev/null || die 'no payment link was made'
count=$("$node" "$work/run.mjs" "$url" "$key") || die 'a request of the collection is not answered as it should be'
echo "postman: newman sent $count requests of the collection, and each was answered with success"
