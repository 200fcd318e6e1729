package daemon

import (
	"net"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/api/gate"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/web"
)

// openConsole serves the operator's console on its own listener, and nowhere else.
func (s *Service) openConsole(c Config, listener net.Listener, staff *frame.Site, gate *gate.Gate, eye observer) {
	mux := http.NewServeMux()
	pages := gate.Staff(staff.Apart())
	mux.Handle(frame.Base, pages)
	mux.Handle(frame.Base+"/", pages)
	mux.Handle("GET /{$}", http.RedirectHandler(frame.Base+"/console", http.StatusSeeOther))
	address := listener.Addr().String()
	s.ConsoleURL = "http://" + address + frame.Base + "/console"
	if !loopback(c.Console) {
		c.Log.Warn("the operator's console can be reached from other machines: put TLS in front of it, and let nobody else in", "address", address)
	}
	c.Log.Info("the operator's console is ready", "url", s.ConsoleURL)
	routes, secure := web.Routed(mux), strings.HasPrefix(s.URL, "https://")
	s.serve(listener, eye.see(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if secure {
			w.Header()["Strict-Transport-Security"] = onlyHTTPS
		}
		routes.ServeHTTP(w, r)
	})))
}
