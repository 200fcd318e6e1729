package devcli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// defaultProfile is the profile that is used if none is named.
const defaultProfile = "default"

// profile is what login stores.
type profile struct {
	URL  string `json:"url"`
	Key  string `json:"key"`
	Shop string `json:"shop,omitempty"` // shp_…
}

// profiles is the file of profiles.
type profiles struct {
	Profiles map[string]profile `json:"profiles"`
}

// configDir is the directory of what the commands store. Only its owner may read it.
func configDir() (string, error) {
	base, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no directory for settings (%w): set HOME or XDG_CONFIG_HOME, or give --url and --key each time", err)
	}
	return filepath.Join(base, "cascada"), nil
}

// profilesPath is the file of profiles.
func profilesPath() (string, error) {
	dir, err := configDir()
	return filepath.Join(dir, "developer.json"), err
}

// readProfiles reads the file of profiles; none if there is no file. A file that others may read is made private.
func readProfiles() (profiles, string, error) {
	read := profiles{Profiles: map[string]profile{}}
	path, err := profilesPath()
	if err != nil {
		return read, "", err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return read, path, nil
	}
	if err != nil {
		return read, path, fmt.Errorf("read the stored keys: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, 0o600) // where it cannot be changed, as on Windows, the directory is the user's own
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return read, path, fmt.Errorf("%s cannot be read: %w. Remove it, and log in again", path, err)
	}
	if read.Profiles == nil {
		read.Profiles = map[string]profile{}
	}
	return read, path, nil
}

// write stores the profiles.
func (p profiles) write(path string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return writePrivate(path, append(text, '\n'))
}

// writePrivate writes a file that only its owner may read, whole or not at all.
func writePrivate(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it is not the file yet
	}
	return err
}

// Access names the service and the credentials of a command. Flags win over the environment, and both over the profile.
type Access struct {
	URL     string `name:"url" env:"CASCADA_URL" placeholder:"URL" help:"Address of the service, such as https://pay.example.com (${env}). Default: the profile's."`
	Key     string `name:"key" env:"CASCADA_API_KEY" placeholder:"KEY" help:"Secret or restricted key, such as sk_test_… (${env}). Default: the profile's. Others on this machine can read arguments: the variable and the profile are safer."`
	Shop    string `name:"shop" env:"CASCADA_SHOP" placeholder:"ID" help:"Shop, shp_…, if the key is the whole merchant's (${env}). Default: the profile's."`
	Profile string `name:"profile" env:"CASCADA_PROFILE" placeholder:"NAME" help:"Profile that login stored (${env}). Default: default."`
}

// live reports whether a key works in production.
func live(key string) bool {
	return strings.HasPrefix(key, "sk_live_") || strings.HasPrefix(key, "rk_live_") || strings.HasPrefix(key, "pk_live_")
}

// chosen is the profile that the flags and the file give together.
func (a Access) chosen() (profile, error) {
	name := a.Profile
	if name == "" {
		name = defaultProfile
	}
	p := profile{a.URL, a.Key, a.Shop}
	if a.URL == "" || a.Key == "" || a.Profile != "" {
		file, _, err := readProfiles()
		stored, known := file.Profiles[name]
		switch {
		case err != nil:
			return p, err
		case !known && a.Profile != "":
			return p, fmt.Errorf("there is no profile %q: cascada-cli login --profile %s makes it%s", name, name, among(file))
		case !known:
			return p, errors.New("no service and key are stored: run login first, or give --url and --key (CASCADA_URL, CASCADA_API_KEY)")
		case a.Key == "" && a.URL != "" && origin(a.URL) != origin(stored.URL):
			// A stored key goes to the service that it was stored for, and nowhere else.
			return p, fmt.Errorf("the key of the profile %q belongs to %s, not to %s: give --key too, or log in there with --profile NAME", name, stored.URL, a.URL)
		}
		if p.Key == "" {
			p.Key = stored.Key
			if p.Shop == "" {
				p.Shop = stored.Shop
			}
		}
		if p.URL == "" {
			p.URL = stored.URL
		}
	}
	return p, nil
}

func among(file profiles) string {
	if len(file.Profiles) == 0 {
		return ""
	}
	return "; there are: " + strings.Join(slices.Sorted(maps.Keys(file.Profiles)), ", ")
}

// origin is an address without its path and a slash at its end: what two addresses of one service have in common.
func origin(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return address
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// checkURL returns the root of a service's address: without /api/v1 and without a slash at its end.
func checkURL(address string) (string, error) {
	text := strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(address), "/"), apiPath)
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%q is not the address of a service: want one such as https://pay.example.com", address)
	}
	if u.User != nil {
		return "", errors.New("the address of the service has a user name in it: leave it out")
	}
	return text, nil
}

// checkKey says what is wrong with a text as a key.
func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("there is no key: give --key or CASCADA_API_KEY, or run login")
	case strings.HasPrefix(key, "pk_"):
		return errors.New("this is a publishable key (pk_…), which reads no events and makes no payments: use a secret key (sk_test_…) or a restricted one (rk_test_…)")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the key has a space or a character that no key has: copy it again")
	}
	return nil
}

// checkSecrecy refuses to send a live key over a network that may read it.
func checkSecrecy(p profile) error {
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme == "https" || !live(p.Key) || isLoopback(u.Hostname()) {
		return err
	}
	return fmt.Errorf("a live key is not sent over http, where others could read it: use https://%s", u.Host)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// open returns the API that the flags name.
func (a Access) open() (*api, error) {
	p, err := a.chosen()
	if err != nil {
		return nil, err
	}
	return newAPI(p)
}

// mayChange refuses to change anything in production, unless that is meant.
func mayChange(a *api, live bool) error {
	if a.live() && !live {
		return errors.New("this is a live key: what this command does would be real. Use a key of the sandbox (sk_test_…), or add --live")
	}
	return nil
}
