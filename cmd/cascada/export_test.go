package main

import "github.com/cascadapay/cascada/internal/provider"

// Run is the program with other adapters than the built-in ones.
func Run(adapters ...provider.Adapter) { run(adapters) }
