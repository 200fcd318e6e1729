#!/usr/bin/env bash
# Makes the packages of the SDKs (sdk/pack.sh), installs each into an empty project, and runs the common scenario from there. `make sdks` calls
# this.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/sdk/tools.sh"
dist=$made/dist
"$root/sdk/pack.sh" "$dist"

# blocks writes the snippets of a README in a language to files, each after a first line.
blocks() {
  awk -v language="$2" -v into="$3" -v ending="$4" -v first="$5" '
    $0 == "```" { file = "" }
    file != "" { print > file }
    $0 == "```" language { file = into "/readme" ++n "." ending; print first > file }' "$1"
}

# TypeScript: projects that npm installs the archive into: the scenario, the guides, and the demo shop. They are compiled with Node's types, which
# the SDK is not.
rm -rf "$work/project" "$work/medusa"
mkdir -p "$work/project"
cp "$sdk/e2e/typescript"/* "$work/project/"
blocks "$here/README.md" ts "$work/project" ts '// From the README.'
for guide in "$root"/internal/guide/snippets/*.ts; do # without the marks of the snippets
  sed -E '/^\/\/= [a-z-]+( alone)?$/d' "$guide" >"$work/project/guide-$(basename "$guide")"
done
# The snippets as the guides show them, each by itself. Those in TypeScript are compiled with the scenario.
shown=$made/shown
rm -rf "$shown"
mkdir -p "$shown"
(cd "$root" && "${GO:-go}" run ./sdk/generate -guides "$shown")
for snippet in "$shown"/*.ts; do cp "$snippet" "$work/project/shown-$(basename "$snippet")"; done
for snippet in "$shown"/*.sh; do quietly bash -n "$snippet"; done
printf 'module shown\n\ngo 1.24.0\n\nrequire github.com/cascadapay/cascada/client v0.0.0\n\nreplace github.com/cascadapay/cascada/client => %s\n' "$root/client" >"$shown/go.mod"
(cd "$shown" && GOWORK=off quietly "${GO:-go}" vet ./...)
install_sdk "$dist" "$work/project"
tsc -p "$work/project"
export SDK_TYPESCRIPT="$node $work/project/made/scenario.js"
. "$root/examples/build.sh"
export SDK_SHOP="$node $shop/made/main.js"

# The decisions of the plugin for Medusa, which need nothing of Medusa. make medusa runs the plugin in a shop.
mkdir -p "$work/medusa/src"
cp -r "$root/integrations/medusa"/{tsconfig.json,test} "$work/medusa/"
cp -r "$root/integrations/medusa/src/lib" "$work/medusa/src/"
echo '{ "type": "module" }' >"$work/medusa/package.json"
ln -sfn "$work/project/node_modules" "$work/medusa/node_modules"
tsc -p "$work/medusa/test"
quietly "$node" --test "$work/medusa/made/test/"

# Python: an environment that has the wheel alone. mypy checks the SDK and the program.
work=$made/python
rm -rf "$work/project"
mkdir -p "$work/project"
quietly "$work/venv/bin/pip" install --no-index --force-reinstall "$dist"/cascadapay-*.whl
cp "$sdk/e2e/python"/*.py "$work/project/"
blocks "$sdk/python/README.md" python "$work/project" py '# From the README.'
if ! command -v mypy >/dev/null; then
  [ "$(id -u)" = 0 ] || die "mypy is needed: install it, or run this as root"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mypy
fi
check() { quietly mypy --python-version 3.10 --cache-dir "$made/mypy" --python-executable "$work/venv/bin/python" "$@"; }
(cd "$work/project" && check --strict --package cascadapay && check --strict ./*.py)
# The snippets have no annotations, and read what may be None.
(cd "$shown" && check --check-untyped-defs --no-strict-optional ./*.py)
export SDK_PYTHON="$work/venv/bin/python $work/project/scenario.py"

# PHP: Composer finds the archive and installs it into an empty project.
work=$made/php
rm -rf "$work/project"
mkdir -p "$work/project"
cp "$sdk/e2e/php"/*.php "$work/project/"
blocks "$sdk/php/README.md" php "$work/project" php '<?php'
cat >"$work/project/composer.json" <<'JSON'
{
    "repositories": [{ "type": "artifact", "url": "../../dist/" }, { "packagist.org": false }],
    "require": { "cascadapay/sdk": "^0.1" }
}
JSON
(cd "$work/project" && quietly env COMPOSER_ALLOW_SUPERUSER=1 composer install --no-interaction --no-plugins)
find "$work/package/src" "$work/project" "$shown" -maxdepth 2 -name '*.php' -print0 | quietly xargs -0 -n 99 php -r 'foreach (array_slice($argv, 1) as $file) { token_get_all(file_get_contents($file), TOKEN_PARSE); }' --
export SDK_PHP="php $work/project/scenario.php"

cd "$sdk/e2e"
"${GO:-go}" test -vet=off -count=1 "$@" .
