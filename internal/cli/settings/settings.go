package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/cascadapay/cascada/internal/cli/settings/file"
)

// packaged is where the package installs the program. A program there reads packagedSettings if no
// other file is named, so commands on that machine work on its service.
const packaged, packagedSettings = "/usr/bin/cascada", "/etc/cascada/cascada.yaml"

// File is the file with the values of flags that neither the command line nor the environment
// sets.
type File string

// BeforeResolve is called by kong after it has read the command line, and before it resolves the other flags.
func (File) BeforeResolve(app *kong.Kong, ctx *kong.Context, trace *kong.Path, r *Resolver) error {
	named, ok := ctx.FlagValue(trace.Flag).(File)
	if !ok || configuring(ctx) {
		return nil // cascada config check reads the file itself
	}
	path := string(named)
	if path == "" {
		path = usualSettings()
	}
	if path == "" {
		return nil
	}
	file, problems, err := readSettings(app.Model, path)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return settingsError(path, problems)
	}
	*r = Resolver{file, path, app.Model}
	ctx.AddResolver(r)
	return nil
}

// usualSettings returns the settings of the machine's service, if this is the packaged program.
func usualSettings() string {
	if program, err := os.Executable(); err != nil || program != packaged {
		return ""
	}
	if _, err := os.Stat(packagedSettings); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return packagedSettings
}

// configuring reports whether the command is cascada config.
func configuring(ctx *kong.Context) bool {
	return slices.ContainsFunc(ctx.Path, func(p *kong.Path) bool { return p.Command != nil && p.Command.Name == "config" })
}

// settingsError returns the problems of a file, one per line.
func settingsError(path string, problems []file.Problem) error {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return fmt.Errorf("%s: %s", path, strings.Join(lines, "\n"+path+": "))
}

// ServeFlags returns the flags of cascada serve, which a file may set.
func ServeFlags(model *kong.Application) (flags []*kong.Flag) {
	for _, command := range model.Children {
		if command.Name == "serve" {
			flags = command.Flags
		}
	}
	return slices.DeleteFunc(slices.Clone(flags), func(f *kong.Flag) bool { return f.Name == "help" })
}

// readSettings reads a file and tries each value, so that each problem has its line number.
func readSettings(model *kong.Application, path string) (file.File, []file.Problem, error) {
	from, err := os.Open(path)
	if err != nil {
		return file.File{}, nil, fmt.Errorf("read the settings: %w", err)
	}
	defer from.Close()
	var names []string
	byName := map[string]*kong.Flag{}
	for _, flag := range ServeFlags(model) {
		names = append(names, flag.Name)
		byName[flag.Name] = flag
	}
	lines, problems := file.Read(from, names)
	for _, s := range lines.Settings {
		if err := try(byName[s.Key], s); err != nil {
			problems = append(problems, file.Problem{Line: s.Line, Key: s.Key, Text: err.Error()})
		}
	}
	for _, one := range secrets {
		value, has := lines.Get(one.setting)
		from, hasFile := lines.Get(one.setting + "-file")
		if has && hasFile && one.readable {
			problems = append(problems, file.Problem{Line: max(value.Line, from.Line), Key: from.Key,
				Text: fmt.Sprintf("%s is in line %d: keep one of the two", value.Key, value.Line)})
		}
	}
	slices.SortStableFunc(problems, func(a, b file.Problem) int { return a.Line - b.Line })
	return lines, problems, nil
}

// try parses a value as the flag would. Its error names the values that are accepted.
func try(flag *kong.Flag, s file.Setting) error {
	text, err := words(flag, s)
	if err != nil {
		return err
	}
	target := reflect.New(flag.Target.Type()).Elem()
	if err := flag.Parse(kong.Scan().PushTyped(text, kong.FlagValueToken), target); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "--"+flag.Name+": "))
	}
	if flag.Enum != "" && !flag.EnumMap()[text] {
		return fmt.Errorf("want one of %s, not %q", strings.ReplaceAll(flag.Enum, ",", ", "), text)
	}
	if v, ok := target.Addr().Interface().(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// Validate checks the values that flags have from the environment: kong checks only those from the
// command line and the file.
func Validate(flags []*kong.Flag) error {
	var wrong []error
	for _, flag := range flags {
		v, ok := flag.Target.Addr().Interface().(interface{ Validate() error })
		if from := variable(flag); ok && from != "" {
			if err := v.Validate(); err != nil {
				wrong = append(wrong, fmt.Errorf("--%s (%s): %w", flag.Name, from, err))
			}
		}
	}
	return errors.Join(wrong...)
}

// words returns a value as it would be written on the command line.
func words(flag *kong.Flag, s file.Setting) (string, error) {
	isMap, isList := flag.IsMap(), flag.IsSlice()
	switch {
	case s.Pairs != nil && !isMap:
		return "", errors.New("want " + shapeOf(flag) + ", not a map")
	case s.IsList && s.Pairs == nil && !isList:
		return "", errors.New("want " + shapeOf(flag) + ", not a list")
	case s.Pairs != nil:
		var pairs []string
		for _, pair := range s.Pairs {
			pairs = append(pairs, pair[0]+"="+pair[1])
		}
		return strings.Join(pairs, string(flag.Tag.MapSep)), nil
	case s.IsList:
		return strings.Join(s.List, string(flag.Tag.Sep)), nil
	}
	return s.Word, nil
}

func shapeOf(flag *kong.Flag) string {
	switch {
	case flag.IsMap():
		return "a map, such as {name: value}"
	case flag.IsSlice():
		return "a list, such as [a, b]"
	}
	return "one value"
}

// Resolver gives flags their values from a file.
type Resolver struct {
	file  file.File
	Path  string // "" if there is none
	model *kong.Application
}

// Validate is called by kong. The file was checked when it was read.
func (*Resolver) Validate(*kong.Application) error { return nil }

// Resolve is called by kong for a flag that the command line does not set. The environment wins
// over the file. The file also sets a flag of another command that has the same name and variable.
func (r *Resolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	i := slices.IndexFunc(ServeFlags(r.model), func(f *kong.Flag) bool {
		return f.Name == flag.Name && (f == flag || len(f.Envs) > 0 && slices.Equal(f.Envs, flag.Envs))
	})
	s, ok := r.file.Get(flag.Name)
	if i < 0 || !ok || variable(flag) != "" {
		return nil, nil
	}
	return words(flag, s)
}

// variable returns the environment variable that sets a flag, "" if none does.
func variable(flag *kong.Flag) string {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return name
		}
	}
	return ""
}

// Named returns the file that --config names.
func Named(at *kong.Context) string {
	for _, flag := range at.Model.Flags {
		if path, ok := at.FlagValue(flag).(File); ok {
			return string(path)
		}
	}
	return ""
}
