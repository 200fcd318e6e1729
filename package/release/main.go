// Command release makes a release of Cascada: programs for each system, packages, an image, a chart, checksums and the rest. `make release`
// calls it.
//
//	release build -version 1.2.3        makes all of it in dist/, and checks what it made
//	release check DIR                   checks what is in a directory
//	release deb -program FILE …         packs one program for Debian, for tests
//
// The same commit gives the same bytes on every machine with the same version of Go. docs/RELEASES.md says how a release is cut and verified.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

func main() {
	syscall.Umask(0o022) // whoever runs this
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say build, check or deb")
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	root := flags.String("root", "..", "the repository")
	version := flags.String("version", "", "the version: 1.2.3, or 1.2.3-rc.1")
	out := flags.String("out", "", "the directory that is made")
	switch args[0] {
	case "build":
		var o options
		flags.StringVar(&o.key, "key", "", "file with the private key that signs the checksums: PEM, ECDSA on P-256. Without it nothing is signed")
		flags.StringVar(&o.url, "url", "", "where the files will be. Without it the formulas and install.sh ask for an address")
		flags.StringVar(&o.targets, "targets", "", "the systems, such as linux/amd64,darwin/arm64; six of them without it")
		flags.StringVar(&o.maintainer, "maintainer", "", "who answers for the packages: NAME <ADDRESS>")
		flags.BoolVar(&o.sdks, "sdks", true, "with the packages of the SDKs")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return cut(*root, *version, *out, o)
	case "check":
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		if flags.NArg() != 1 {
			return errors.New("name the directory")
		}
		return check(flags.Arg(0), os.Stdout)
	case "deb":
		program := flags.String("program", "", "the program that is packed")
		arch := flags.String("arch", runtime.GOARCH, "its architecture")
		maintainer := flags.String("maintainer", "", "who answers for the package")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return onlyDeb(*root, *version, *program, *arch, *out, *maintainer)
	}
	return fmt.Errorf("there is no command %s", args[0])
}
