package settings

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// secret is a setting that nobody else may see. Each can be read from a file, which the flag
// NAME-file names, or which a supervisor hands over as the credential cascada_NAME.
type secret struct {
	setting  string
	readable bool   // the flag NAME may be given too; else there is only NAME-file
	variable string // that may hold the secret where no flag does
}

var secrets = []secret{
	{"database", true, ""}, // a password may be in it
	{"redis", true, ""},
	{"fx-url", true, ""}, // services have their key in it
	{"master-key", false, "CASCADA_MASTER_KEY"},
	{"smtp-password", false, "CASCADA_SMTP_PASSWORD"},
}

// level is how near to the user a value was given; the higher one counts.
type level int

const (
	byDefault level = iota
	byFile
	byCredential
	byEnvironment
	byFlag
)

// Origin is where a flag's value is from.
type Origin struct {
	level level
	text  string // for people
}

// originOf tells where a parsed flag has its value from.
func originOf(k *kong.Context, flag *kong.Flag, from *Resolver) Origin {
	for _, p := range k.Path {
		if p.Flag != flag {
			continue
		}
		if !p.Resolved {
			return Origin{byFlag, "--" + flag.Name}
		}
		s, _ := from.file.Get(flag.Name)
		return Origin{byFile, fmt.Sprintf("%s, line %d", from.Path, s.Line)}
	}
	if v := variable(flag); v != "" {
		return Origin{byEnvironment, v}
	}
	return Origin{byDefault, "default"}
}

// credential is the file that systemd hands over for a secret, "" where it hands over none.
func (s secret) credential() string {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, "cascada_"+s.setting)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// ReadSecrets gives the flags of the command the secrets that are in files, and returns where each
// flag that it looked at has its value from.
func ReadSecrets(k *kong.Context, from *Resolver) (map[string]Origin, error) {
	origins := map[string]Origin{}
	flags := map[string]*kong.Flag{}
	for _, flag := range k.Flags() {
		flags[flag.Name] = flag
		origins[flag.Name] = originOf(k, flag, from)
	}
	for _, one := range secrets {
		file := flags[one.setting+"-file"]
		if file == nil {
			continue // of another command
		}
		if err := one.take(flags[one.setting], file, origins); err != nil {
			return origins, err
		}
	}
	return origins, nil
}

// take decides where a secret is from: the nearest to the user of the flag, the flag of its file,
// and the credential.
func (s secret) take(value, file *kong.Flag, origins map[string]Origin) error {
	at := origins[file.Name]
	path := file.Target.String()
	credential := s.credential()
	if credential != "" && at.level < byCredential {
		path, at = credential, Origin{byCredential, "credential " + filepath.Base(credential)}
	}
	if !s.readable {
		if credential != "" && os.Getenv(s.variable) != "" {
			return fmt.Errorf("%s is given twice, by %s and by %s: keep one", s.setting, s.variable, at.text)
		}
		file.Target.SetString(path)
		origins[file.Name] = at
		return nil
	}
	given := origins[value.Name]
	switch {
	case path == "" || given.level > at.level:
		return nil
	case given.level == at.level, given.level == byFile && at.level == byCredential: // commands would take another one than the service
		return fmt.Errorf("%s is given twice, by %s and by %s: keep one", s.setting, given.text, at.text)
	}
	line, err := secretLine(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.setting, err)
	}
	value.Target.SetString(line)
	origins[value.Name] = at
	return nil
}

// secretLine is the one line of a file.
func secretLine(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line := strings.TrimRight(string(text), "\r\n")
	if line == "" || strings.ContainsAny(line, "\r\n") {
		return "", fmt.Errorf("%s: want one line, and nothing else", path)
	}
	return line, nil
}

// WarnOfArguments says so where a password stands in the arguments, which everybody on the machine
// can read.
func WarnOfArguments(flags []*kong.Flag, origins map[string]Origin, log *slog.Logger) {
	for _, flag := range flags {
		if origins[flag.Name].level == byFlag && flag.Target.Kind().String() == "string" && HasPassword(flag.Target.String()) &&
			slices.ContainsFunc(secrets, func(s secret) bool { return s.setting == flag.Name }) {
			log.Warn("a password is in the arguments, which every list of processes shows", "flag", "--"+flag.Name, "instead", "--"+flag.Name+"-file")
		}
	}
}

// passwords are parameters of addresses that nobody may see.
var passwords = []string{"password", "sslpassword"}

// HasPassword reports whether a password is in an address.
func HasPassword(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	_, has := u.User.Password()
	return has || slices.ContainsFunc(passwords, u.Query().Has)
}

// addresses are settings that should hold no secret, and may.
var addresses = []string{"smtp-url", "public-url", "otlp-endpoint"}

// withoutSecrets is the value of a setting as a screen may show it.
func withoutSecrets(setting, value string) string {
	if !slices.ContainsFunc(secrets, func(s secret) bool { return s.setting == setting }) && !slices.Contains(addresses, setting) {
		return value
	}
	if value == "" || strings.HasPrefix(value, "sqlite:") {
		return value
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" && u.Scheme == "" {
		return "(not shown)"
	}
	if setting == "fx-url" || setting == "otlp-endpoint" && (u.User != nil || u.RawQuery != "") { // the key may be anywhere in it
		return u.Scheme + "://" + u.Host + "/…"
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), "xxxxx")
	}
	query := u.Query()
	for _, name := range passwords {
		if query.Has(name) {
			query.Set(name, "xxxxx")
		}
	}
	u.RawQuery = query.Encode()
	return u.String()
}
