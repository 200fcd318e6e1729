package main

// These root certificates are trusted if the machine has none, as in a container with only this
// program in it. If the machine has some, those are trusted instead.
import _ "golang.org/x/crypto/x509roots/fallback"
