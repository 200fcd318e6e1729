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

// secret is a setting that other users must not see. It can be read from a file: the flag NAME-file
// names the file, or a supervisor passes it as the credential cascada_NAME.
type secret struct {
	setting  string
	readable bool   // there is a flag NAME too, not only NAME-file
	variable string // may hold the secret, if there is no flag NAME
}

var secrets = []secret{
	{"database", true, ""}, // it may contain a password
	{"redis", true, ""},
	{"fx-url", true, ""}, // it may contain the service's key
	{"master-key", false, "CASCADA_MASTER_KEY"},
	{"smtp-password", false, "CASCADA_SMTP_PASSWORD"},
	{"oidc-client-secret", false, "CASCADA_OIDC_CLIENT_SECRET"},
}

// level ranks the sources of a value; the highest one wins.
type level int

const (
	byDefault level = iota
	byFile
	byCredential
	byEnvironment
	byFlag
)

// Origin is the source of a flag's value.
type Origin struct {
	level level
	text  string // for people
}

// originOf returns the source of a parsed flag's value.
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

// credential returns the file that systemd passes for a secret, "" if it passes none.
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

// ReadSecrets sets the command's flags whose secrets are in files, and returns the source of each
// flag's value.
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
			continue // this command does not have it
		}
		if err := one.apply(flags[one.setting], file, origins); err != nil {
			return origins, err
		}
	}
	return origins, nil
}

// apply sets a secret from the source with the highest level: the flag, the flag of its file, or the
// credential.
func (s secret) apply(value, file *kong.Flag, origins map[string]Origin) error {
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
	case given.level == at.level, given.level == byFile && at.level == byCredential: // commands without the credential would use another value than the service
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

// secretLine returns the only line of a file.
func secretLine(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line := strings.TrimRight(string(text), "\r\n")
	if line == "" || strings.ContainsAny(line, "\r\n") {
		return "", fmt.Errorf("%s: want exactly one line", path)
	}
	return line, nil
}

// WarnOfArguments warns if a password is in the arguments, which every user of the machine can
// read.
func WarnOfArguments(flags []*kong.Flag, origins map[string]Origin, log *slog.Logger) {
	for _, flag := range flags {
		if origins[flag.Name].level == byFlag && flag.Target.Kind().String() == "string" && HasPassword(flag.Target.String()) &&
			slices.ContainsFunc(secrets, func(s secret) bool { return s.setting == flag.Name }) {
			log.Warn("the arguments contain a password, and every list of processes shows them", "flag", "--"+flag.Name, "instead", "--"+flag.Name+"-file")
		}
	}
}

// passwords are the parameters of URLs that hold passwords.
var passwords = []string{"password", "sslpassword"}

// HasPassword reports whether a URL contains a password.
func HasPassword(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	_, has := u.User.Password()
	return has || slices.ContainsFunc(passwords, u.Query().Has)
}

// addresses are settings that should contain no secret, but could.
var addresses = []string{"smtp-url", "oidc-issuer", "public-url", "otlp-endpoint"}

// withoutSecrets returns the value of a setting with its secrets hidden.
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
