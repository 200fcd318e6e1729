package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"text/template"
)

// formula is a formula for Homebrew. Without an address it takes one from the environment: Homebrew passes on variables with its prefix.
var formula = template.Must(template.New("formula").Parse(`# Installs {{.Program}} from the archives of the release. docs/RELEASES.md says how.
class {{.Class}} < Formula
  desc "{{.About}}"
{{- if .URL}}
  homepage "{{.URL}}"
{{- end}}
  version "{{.Version}}"
  license "Apache-2.0"
{{range $i, $system := .Systems}}
  on_{{$system.Name}} do
{{- range $system.Archives}}
    on_{{.Arch}} do
      url "{{$.Base}}{{.File}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "{{.Program}}"
    bash_completion.install "completions/{{.Program}}.bash" => "{{.Program}}"
    zsh_completion.install "completions/{{.Program}}.zsh" => "_{{.Program}}"
    fish_completion.install "completions/{{.Program}}.fish"
    doc.install Dir["docs/*"], "THIRD-PARTY-LICENSES.txt"
  end

  test do
    assert_match "{{.Program}} #{version} ", shell_output("#{bin}/{{.Program}} --version")
  end
end
`))

// brewed is an archive in a formula.
type brewed struct{ Arch, File, Sum string }

// system is what a formula calls an operating system, with its archives.
type system struct {
	Name     string
	Archives []brewed
}

// about says in a formula what a program is.
var about = map[string]string{
	"cascada":     "Payment orchestration: one API over a cascade of payment providers",
	"cascada-cli": "Command line of Cascada for a shop's developer",
}

// formulas writes a formula for each program.
func (r *release) formulas() error {
	for _, p := range programs {
		var systems []system
		for _, s := range [...]struct{ os, name string }{{"darwin", "macos"}, {"linux", "linux"}} {
			var archives []brewed
			for _, a := range [...]struct{ arch, name string }{{"arm64", "arm"}, {"amd64", "intel"}} {
				f := file{p, target{s.os, a.arch}}
				if _, ok := r.built[f]; !ok {
					continue
				}
				name := r.name(f) + ".tar.gz"
				sum, err := sumOf(filepath.Join(r.out, name))
				if err != nil {
					return err
				}
				archives = append(archives, brewed{a.name, name, sum})
			}
			if len(archives) > 0 {
				systems = append(systems, system{s.name, archives})
			}
		}
		if len(systems) == 0 {
			continue
		}
		base := r.url
		if base == "" {
			base = `#{ENV.fetch("HOMEBREW_CASCADA_URL")}/`
		}
		class := map[string]string{"cascada": "Cascada", "cascada-cli": "CascadaCli"}[p]
		var text bytes.Buffer
		if err := formula.Execute(&text, map[string]any{"Program": p, "Class": class, "About": about[p], "URL": r.url, "Base": base, "Version": r.version, "Systems": systems}); err != nil {
			return fmt.Errorf("formula of %s: %w", p, err)
		}
		if err := r.write(p+".rb", text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
