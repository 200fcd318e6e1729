# Builds the demo shop in bin/shop, as its developer would: npm install, tsc. sdk/check.sh and examples/demo.sh source it after sdk/typescript.sh, with dist, where the archive of the SDK is.
# It sets shop, where the program is.
shop=$root/bin/shop
rm -rf "$shop"
mkdir -p "$shop"
cp -r "$root"/examples/shop/{package.json,tsconfig.json,src,public} "$shop/"
# The compiler and Node's types are there already: npm need not ask a registry for them.
"$node" -e 'const fs = require("fs"), [file] = process.argv.slice(1), p = JSON.parse(fs.readFileSync(file)); delete p.devDependencies; fs.writeFileSync(file, JSON.stringify(p, null, 2))' "$shop/package.json"
install_sdk "$dist" "$shop"
tsc -p "$shop"
