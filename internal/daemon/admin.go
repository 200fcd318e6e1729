package daemon

import (
	"net"
	"os"

	"github.com/cascadapay/cascada/internal/admin"
	"github.com/cascadapay/cascada/internal/api/gate"
)

// openAdmin serves the admin API on its own listener.
func (s *Service) openAdmin(c Config, listener net.Listener, gate *gate.Gate, eye observer) error {
	address := listener.Addr().String()
	handler, err := admin.New(admin.Config{Uses: AdminUses(s.App), Log: c.Log, Node: nodeName(address), Proxies: c.Proxies, Now: c.Now, Bodies: gate.OperatorsBody})
	if err != nil {
		return err
	}
	s.AdminURL = "http://" + address + admin.Base
	if !loopback(c.Admin) {
		c.Log.Warn("the admin API can be reached from other machines: put TLS in front of it, and let nobody else in", "address", address)
	}
	c.Log.Info("the admin API is ready", "url", s.AdminURL)
	s.serve(listener, eye.see(handler))
	return nil
}

// nodeName identifies a node: the machine, and the port of its admin API.
func nodeName(address string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return host
	}
	return net.JoinHostPort(host, port)
}

// loopback reports whether a listen address can be reached only from its own machine.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// warnIfPublic warns if a listener without credentials can be reached from other machines.
func (s *Service) warnIfPublic(listen, why string) {
	if !loopback(listen) {
		s.log.Warn("a listener without credentials can be reached from other machines: let nobody else in", "address", listen, "why", why)
	}
}
