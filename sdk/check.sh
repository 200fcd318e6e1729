#!/usr/bin/env bash
# Makes the packages of the SDKs, installs each into an empty project, and runs the common scenario from there. `make sdks` calls
# this.
#
# What it needs is installed as root on Debian: Node.js as spec/check.sh does it, the rest as packages. Everything else is kept in
# bin/sdk, so a second run downloads nothing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sdk=$root/sdk
made=$root/bin/sdk
dist=$made/dist

die() {
  echo "sdks: $*" >&2
  exit 1
}

quietly() { "$@" >"$made/run.log" 2>&1 || die "$*: $(cat "$made/run.log")"; }

want=
command -v python3 >/dev/null || want="$want python3"
python3 -c 'import ensurepip, venv' 2>/dev/null || want="$want python3-venv"
command -v mypy >/dev/null || want="$want mypy"
command -v php >/dev/null || want="$want php-cli"
command -v composer >/dev/null || want="$want composer"
for extension in curl zip; do php -m 2>/dev/null | grep -qx "$extension" || want="$want php-$extension"; done
if [ -n "$want" ]; then
  [ "$(id -u)" = 0 ] || die "these are needed:$want: install them, or run this as root"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $want
fi

# blocks writes the snippets of a README in a language to files, each after a first line.
blocks() {
  awk -v language="$2" -v into="$3" -v ending="$4" -v first="$5" '
    $0 == "```" { file = "" }
    file != "" { print > file }
    $0 == "```" language { file = into "/readme" ++n "." ending; print first > file }' "$1"
}

# TypeScript: npm pack, and projects that npm installs the archive into: the scenario, the guides, and the demo shop.
rm -rf "$dist"
mkdir -p "$dist"
. "$sdk/typescript.sh"
rm -rf "$work/project"
mkdir -p "$work/project"
cp "$sdk/e2e/typescript"/* "$work/project/"
blocks "$here/README.md" ts "$work/project" ts '// From the README.'
for guide in "$root"/internal/guide/snippets/*.ts; do # without the marks of the snippets
  sed -E '/^\/\/= [a-z-]+$/d' "$guide" >"$work/project/guide-$(basename "$guide")"
done
install_sdk "$work/project"
tsc -p "$work/project"
export SDK_TYPESCRIPT="$node $work/project/made/scenario.js"
. "$root/examples/build.sh"
export SDK_SHOP="$node $shop/made/main.js"

# Python: an sdist, a wheel that pip makes of it, and an environment that has the wheel alone. mypy checks the SDK and the program.
work=$made/python
rm -rf "$work/package" "$work/project"
mkdir -p "$work/package" "$work/project"
cp -r "$sdk/python/pyproject.toml" "$sdk/python/README.md" "$sdk/python/src" "$sdk/python/backend" "$root/LICENSE" "$work/package/"
find "$work/package" -name __pycache__ -prune -exec rm -rf {} +
(cd "$work/package" && quietly env PYTHONPATH=backend python3 -c 'import build_backend, sys; build_backend.build_sdist(sys.argv[1])' "$dist")
[ -x "$work/venv/bin/pip" ] || quietly python3 -m venv "$work/venv"
quietly "$work/venv/bin/pip" wheel --no-index --no-deps --wheel-dir "$dist" "$dist"/cascadapay-*.tar.gz
quietly "$work/venv/bin/pip" install --no-index --force-reinstall "$dist"/cascadapay-*.whl
cp "$sdk/e2e/python"/*.py "$work/project/"
blocks "$sdk/python/README.md" python "$work/project" py '# From the README.'
types() { quietly mypy --strict --python-version 3.10 --cache-dir "$made/mypy" --python-executable "$work/venv/bin/python" "$@"; }
(cd "$work/project" && types --package cascadapay && types ./*.py)
export SDK_PYTHON="$work/venv/bin/python $work/project/scenario.py"

# PHP: an archive, which Composer finds and installs into an empty project.
work=$made/php
rm -rf "$work"
mkdir -p "$work/package" "$work/project"
cp -r "$sdk/php/composer.json" "$sdk/php/README.md" "$sdk/php/src" "$root/LICENSE" "$work/package/"
(cd "$work/package" && quietly env COMPOSER_ALLOW_SUPERUSER=1 composer archive --no-interaction --format=zip --dir="$dist" --file="cascadapay-sdk-php")
cp "$sdk/e2e/php"/*.php "$work/project/"
blocks "$sdk/php/README.md" php "$work/project" php '<?php'
cat >"$work/project/composer.json" <<'JSON'
{
    "repositories": [{ "type": "artifact", "url": "../../dist/" }, { "packagist.org": false }],
    "require": { "cascadapay/sdk": "^0.1" }
}
JSON
(cd "$work/project" && quietly env COMPOSER_ALLOW_SUPERUSER=1 composer install --no-interaction --no-plugins)
find "$work/package/src" "$work/project" -maxdepth 2 -name '*.php' -print0 | quietly xargs -0 -n 99 php -r 'foreach (array_slice($argv, 1) as $file) { token_get_all(file_get_contents($file), TOKEN_PARSE); }' --
export SDK_PHP="php $work/project/scenario.php"

cd "$sdk/e2e"
"${GO:-go}" test -vet=off -count=1 "$@" .
