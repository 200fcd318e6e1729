package frame

import "net/http"

// cookieName is the name of a cookie; "" is that of the sign-in. On https no other site of the domain can set it.
func (f *Frame) cookieName(name string) string {
	switch {
	case f.secure && name == "":
		return "__Host-cascada"
	case f.secure:
		return "__Host-cascada-" + name
	case name == "":
		return "cascada"
	}
	return "cascada_" + name
}

// Keep puts a value into the browser for some seconds; "" removes it. No script reads it.
func (f *Frame) Keep(w http.ResponseWriter, name, value string, seconds int, site http.SameSite) {
	if value == "" {
		seconds = -1
	}
	http.SetCookie(w, &http.Cookie{Name: f.cookieName(name), Value: value, Path: "/", MaxAge: seconds, Secure: f.secure, HttpOnly: true, SameSite: site})
}

// ReadOnce is what Keep put into the browser, "" for nothing. It is removed: it is used once.
func (f *Frame) ReadOnce(w http.ResponseWriter, r *http.Request, name string, site http.SameSite) string {
	c, err := r.Cookie(f.cookieName(name))
	if err != nil {
		return ""
	}
	f.Keep(w, name, "", 0, site)
	return c.Value
}
