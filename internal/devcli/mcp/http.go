package mcp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// endpoint is the path that agents call.
	endpoint = "/mcp"
	// maxBody bounds a request of an agent.
	maxBody = 1 << 20
	// drain is how long calls that run may go on when the program ends.
	drain = 5 * time.Second
)

// listen serves agents over HTTP until the context ends.
func (c Command) listen(ctx context.Context, d *door, say func(where string)) error {
	listener, err := net.Listen("tcp", c.HTTP)
	if err != nil {
		return fmt.Errorf("--http: %w", err)
	}
	local, ok := listener.Addr().(*net.TCPAddr)
	loopback := ok && local.IP.IsLoopback()
	if !loopback && c.HTTPSecret == "" {
		return errors.Join(errors.New("others can reach this address: give CASCADA_MCP_SECRET, which agents send as Authorization: Bearer, or listen at 127.0.0.1"), listener.Close())
	}
	server := &http.Server{
		Handler:           guard{d.streamable(), loopback, c.HTTPSecret, c.AllowOrigin},
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: toolTimeout + 20*time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	say("at http://" + listener.Addr().String() + endpoint)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(stop); err != nil {
		return server.Close()
	}
	return nil
}

// streamable is the door over HTTP. There are no sessions: each request stands alone, and nothing is kept between two.
func (d *door) streamable() http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return d.server },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true})
}

// guard lets agents in, and nobody else: no page in a browser, also not by a name that leads to this machine (DNS rebinding).
type guard struct {
	next     http.Handler
	loopback bool
	secret   string
	origins  []string
}

// ServeHTTP implements http.Handler.
func (g guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	switch {
	case g.loopback && !localHost(r.Host):
		http.Error(w, "call this program by the name localhost or by its address", http.StatusForbidden)
	case (origin != "" || r.Header.Get("Sec-Fetch-Site") != "") && !slices.Contains(g.origins, origin):
		http.Error(w, "pages of this origin may not call: --allow-origin lets one", http.StatusForbidden)
	case r.Method == http.MethodOptions && origin != "": // a browser asks first, without the secret
		g.preflight(w, origin)
	case !g.knows(r.Header.Get("Authorization")):
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "send the secret of this program as Authorization: Bearer", http.StatusUnauthorized)
	case r.URL.Path != endpoint:
		http.Error(w, "agents call "+endpoint, http.StatusNotFound)
	default:
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if origin != "" {
			allow(w, origin)
		}
		g.next.ServeHTTP(w, r)
	}
}

// preflight answers a browser's question before a call of an allowed page.
func (g guard) preflight(w http.ResponseWriter, origin string) {
	allow(w, origin)
	w.Header().Set("Access-Control-Allow-Methods", "POST")
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name")
	w.WriteHeader(http.StatusNoContent)
}

func allow(w http.ResponseWriter, origin string) {
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Add("Vary", "Origin")
}

// knows reports whether a header has the secret, if there is one. It takes as long for a wrong secret as for another.
func (g guard) knows(header string) bool {
	if g.secret == "" {
		return true
	}
	scheme, sent, _ := strings.Cut(header, " ")
	want, got := sha256.Sum256([]byte(g.secret)), sha256.Sum256([]byte(strings.TrimSpace(sent)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// localHost reports whether a Host header names this machine itself.
func localHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}
