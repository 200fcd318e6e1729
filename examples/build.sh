# Builds the demo shop in bin/shop, as its developer would: npm install, tsc. sdk/check.sh and examples/demo.sh source it after sdk/typescript.sh, with dist, where the archive of the SDK is.
# It sets shop, where the program is.
shop=$root/bin/shop
rm -rf "$shop"
mkdir -p "$shop"
cp -r "$root"/examples/shop/{package.json,tsconfig.json,src,public} "$shop/"
install_sdk "$dist" "$shop"
tsc -p "$shop"
