package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// beatEvery is how often the server is asked whether it is still the primary. beatTimeout bounds its
	// answer, or a connection to a host.
	beatEvery   = time.Second
	beatTimeout = 2 * time.Second
	// lookPause is the pause between two looks at all hosts while none is the primary.
	lookPause = 250 * time.Millisecond
	// othersEvery is how many beats pass between two looks at the other hosts: one of them may have been
	// promoted while our server is still up. Until then reads are stale, and a commit waits in vain for a
	// standby that is gone.
	othersEvery = 2
	// deadAfter is how long sent data may stay unacknowledged before the system ends the connection.
	deadAfter = 8 * time.Second
)

var (
	// errNoServer: no host of the address is currently the primary.
	errNoServer = fmt.Errorf("%w: no host of the address is a primary that takes writes", ErrDown)
	errStandby  = errors.New("the host is a standby")
	errOld      = errors.New("the host is a primary of an older timeline: another one was promoted in its place")
)

// server is the host for reads and writes: of all hosts in the address, the primary with the newest
// timeline. A promotion starts a new timeline, so a replaced primary that does not know it is recognized by
// its older one.
//
// It watches actively, because a server may also hang: its connections stay open and nothing is answered.
// When it gives a server up, everything that waits for the server ends at once.
type server struct {
	hosts []*pgconn.Config // one each
	log   *slog.Logger
	poke  chan struct{} // makes watch ask at once
	group sync.WaitGroup
	life  context.Context
	end   context.CancelFunc

	mu       sync.Mutex         // owns the fields below
	begin    func()             // replaces the pools, which are connected to the old server
	at       int                // the host in use; -1: none
	timeline int64              // the newest ever seen; 0: the server does not report it
	era      context.Context    // ends when the server is given up
	endEra   context.CancelFunc //
}

// standing is a host's reported state.
type standing struct {
	host     int
	timeline int64
	conn     *pgconn.PgConn
	err      error
}

// newServer finds the primary. It changes config to connect to the primary only.
func newServer(ctx context.Context, config *pgxpool.Config, log *slog.Logger) (*server, error) {
	v := &server{hosts: hostsOf(config.ConnConfig), log: log, at: -1, begin: func() {}, poke: make(chan struct{}, 1)}
	v.life, v.end = context.WithCancel(context.Background())
	v.era, v.endEra = context.WithCancel(v.life)
	best := v.findPrimary(ctx)
	if best.err != nil {
		v.end()
		return nil, best.err
	}
	v.move(best)
	config.BeforeConnect = v.aim
	config.ConnConfig.ValidateConnect = v.validate
	v.group.Go(func() { v.watch(best.conn) })
	return v, nil
}

// hostsOf splits an address into hosts, each with and without TLS if both may be tried.
func hostsOf(config *pgx.ConnConfig) (hosts []*pgconn.Config) {
	all := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, one := range all {
		if n := len(hosts); n > 0 && hosts[n-1].Host == one.Host && hosts[n-1].Port == one.Port {
			hosts[n-1].Fallbacks = append(hosts[n-1].Fallbacks, one)
			continue
		}
		host := config.Config.Copy()
		host.Host = one.Host
		host.Port = one.Port
		host.TLSConfig = one.TLSConfig
		host.Fallbacks = nil
		host.ValidateConnect = nil
		hosts = append(hosts, host)
	}
	return hosts
}

// onMove sets the function that replaces the pools when an era begins.
func (s *server) onMove(begin func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin = begin
}

func (s *server) close() {
	s.end()
	s.group.Wait()
}

// current is the server's current era, which ends when the server is given up.
func (s *server) current() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.era
}

// aim points a pool's new connection at the host.
func (s *server) aim(_ context.Context, config *pgx.ConnConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at < 0 {
		return errNoServer
	}
	host := s.hosts[s.at]
	config.Host = host.Host
	config.Port = host.Port
	config.TLSConfig = host.TLSConfig
	config.Fallbacks = host.Fallbacks
	return nil
}

// validate refuses a new connection to a server that is not the known primary.
func (s *server) validate(ctx context.Context, conn *pgconn.PgConn) error {
	timeline, err := role(ctx, conn)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case timeline < s.timeline:
		return errOld
	case timeline > s.timeline: // connections to the old primary must be closed
		s.timeline = timeline
		select {
		case s.poke <- struct{}{}:
		default:
		}
	}
	return nil
}

// askRole returns no row on a standby, and otherwise the primary's current timeline.
const askRole = `SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) WHERE NOT pg_is_in_recovery()`

// askRolePlainly is for a service that hides its WAL position.
const askRolePlainly = `SELECT '0' WHERE NOT pg_is_in_recovery()`

// role returns a primary's timeline.
//
// Errors: errStandby, or a failure of the connection.
func role(ctx context.Context, conn *pgconn.PgConn) (timeline int64, err error) {
	for _, text := range []string{askRole, askRolePlainly} {
		result := conn.ExecParams(ctx, text, nil, nil, nil, nil).Read()
		switch {
		case result.Err == nil && len(result.Rows) == 0:
			return 0, errStandby
		case result.Err == nil:
			if _, err := fmt.Sscanf(string(result.Rows[0][0]), "%x", &timeline); err != nil {
				return 0, fmt.Errorf("the timeline %q: %w", result.Rows[0][0], err)
			}
			return timeline, nil
		}
		err = result.Err
		if conn.IsClosed() {
			break
		}
	}
	return 0, err
}

// find looks at all hosts. A look is as old as its fastest answer: while it waited for a hanging host,
// another one may have been promoted after it answered as a standby, and the hanging one may be the former
// primary. So such a look is repeated.
func (s *server) find(ctx context.Context) standing {
	began := time.Now()
	best := s.findPrimary(ctx)
	if best.err != nil || time.Since(began) < lookPause {
		return best
	}
	if next := s.findPrimary(ctx); next.err == nil {
		hangUp(best.conn)
		return next
	}
	return best
}

// findPrimary asks all hosts at once, and returns the primary of the newest timeline with a connection to it. Once
// a host has answered well, it waits only briefly for hanging hosts.
func (s *server) findPrimary(ctx context.Context) standing {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	s.mu.Lock()
	known := s.timeline
	s.mu.Unlock()
	answers := make(chan standing, len(s.hosts))
	for i := range s.hosts {
		s.group.Go(func() { answers <- s.ask(ctx, i) })
	}
	best := standing{host: -1, err: errNoServer}
	for range s.hosts {
		got := <-answers
		switch {
		case got.err != nil:
			best.err = joinWhileNone(best, fmt.Errorf("%s: %w", s.hosts[got.host].Host, got.err))
			continue
		case got.timeline < known, best.host >= 0 && got.timeline <= best.timeline:
			if got.timeline < known {
				best.err = joinWhileNone(best, fmt.Errorf("%s: %w", s.hosts[got.host].Host, errOld))
			}
			hangUp(got.conn)
			continue
		case best.host >= 0:
			hangUp(best.conn)
		}
		best = got
		// Gives other hosts a moment to report a newer timeline.
		moment := time.AfterFunc(lookPause, cancel)
		defer moment.Stop()
	}
	return best
}

func joinWhileNone(best standing, err error) error {
	if best.host >= 0 {
		return nil
	}
	return errors.Join(best.err, err)
}

// ask connects to a host and asks for its role.
func (s *server) ask(ctx context.Context, host int) standing {
	conn, err := pgconn.ConnectConfig(ctx, s.hosts[host])
	if err != nil {
		return standing{host: host, err: err}
	}
	timeline, err := role(ctx, conn)
	if err != nil {
		hangUp(conn)
		return standing{host: host, err: err}
	}
	return standing{host: host, timeline: timeline, conn: conn}
}

// hangUp closes a connection whose other side may not answer.
func hangUp(conn *pgconn.PgConn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookPause)
	defer cancel()
	_ = conn.Close(ctx) // the connection is not used again, whatever Close answers
}

// move starts an era with a server.
func (s *server) move(to standing) {
	s.mu.Lock()
	s.endEra()
	s.era, s.endEra = context.WithCancel(s.life)
	s.at, s.timeline = to.host, max(s.timeline, to.timeline)
	begin := s.begin
	s.mu.Unlock()
	begin()
}

// leave gives the server up: everything that waits for it ends, and new calls are refused until a primary
// is found.
func (s *server) leave() {
	s.mu.Lock()
	s.at = -1
	s.endEra()
	s.mu.Unlock()
}

// watch checks the server every second, and finds another when it no longer answers as the primary.
func (s *server) watch(conn *pgconn.PgConn) {
	defer func() { hangUp(conn) }()
	for beats := 1; s.rest(beatEvery); beats++ {
		cause := s.beat(conn)
		if cause == nil && (len(s.hosts) == 1 || beats%othersEvery != 0) {
			continue
		}
		best := s.find(s.life)
		switch {
		case s.life.Err() != nil:
			hangUp(best.conn)
			return
		case best.err != nil && cause == nil:
			continue // the others have no news
		}
		for first := true; best.err != nil; first = false {
			if first {
				s.log.Error("the database server is given up; all hosts are asked", "cause", cause, "found", best.err)
				s.leave()
			}
			if !s.rest(lookPause) {
				return
			}
			best = s.find(s.life)
		}
		hangUp(conn)
		conn = best.conn
		s.settle(best)
	}
}

// settle continues with the best host; nothing changes if that is the one in use.
func (s *server) settle(best standing) {
	s.mu.Lock()
	same := s.at == best.host && s.timeline == best.timeline
	s.mu.Unlock()
	if same {
		return
	}
	s.log.Warn("the database server is another one, or was promoted", "host", s.hosts[best.host].Host, "timeline", best.timeline)
	s.move(best)
}

// beat asks the server in use whether it is still the known primary.
func (s *server) beat(conn *pgconn.PgConn) error {
	ctx, cancel := context.WithTimeout(s.life, beatTimeout)
	defer cancel()
	timeline, err := role(ctx, conn)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if timeline != s.timeline {
		return fmt.Errorf("the timeline is %d, it was %d", timeline, s.timeline)
	}
	return nil
}

func (s *server) rest(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.poke:
		return true
	case <-s.life.Done():
		return false
	}
}

// dial connects so that the system itself ends an unresponsive connection.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{
		Timeout:         connectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: deadAfter / 2, Interval: deadAfter / 4, Count: 2},
		Control:         boundSilence,
	}
	return dialer.DialContext(ctx, network, address)
}
