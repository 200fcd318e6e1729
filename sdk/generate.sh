#!/usr/bin/env bash
# Generates the operations and types of the SDKs from the document as the service publishes it. `make sdk` calls this.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
data=$(mktemp -d)
server=
cleanup() {
  if [ -n "$server" ]; then kill -TERM "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  rm -rf "$data"
}
trap cleanup EXIT
"$root/bin/cascada" serve --no-demo --listen 127.0.0.1:0 --database "sqlite:$data/sdk.db" >"$data/log" 2>&1 &
server=$!
until url=$(sed -n 's/.*msg="cascada is ready" url=\([^ ]*\).*/\1/p' "$data/log") && [ -n "$url" ]; do
  kill -0 "$server" 2>/dev/null || { cat "$data/log" >&2; exit 1; }
  sleep 0.05
done
curl -fsS "$url/api/openapi.json" >"$data/openapi.json"
cd "$root"
"${GO:-go}" run ./sdk/generate -document "$data/openapi.json" -to sdk
