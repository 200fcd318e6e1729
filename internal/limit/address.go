package limit

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// connectionsPerCPU bounds how many calls of Redis are made at once.
	connectionsPerCPU = 10
	// idleTime is how long a connection is kept without use: less than what servers and proxies keep one.
	idleTime = time.Minute
	// trustTime is how long after its last use a connection is used again without a PING: Redis may have restarted since.
	trustTime = time.Second
)

// errAddress does not quote the address, because it may have a password.
var errAddress = errors.New("redis: want redis://[user:password@]host:port[/db], or rediss://…")

// address says where a Redis is, and who asks it.
type address struct {
	network, at string
	options     []redis.DialOption
}

// CheckRedis refuses an invalid Redis address. It does not connect.
func CheckRedis(url string) error {
	_, err := parseAddress(url)
	return err
}

// parseAddress reads the address of a Redis. A socket of this machine is unix:///path.
func parseAddress(text string) (address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" {
		return address{}, errAddress
	}
	a := address{network: "tcp", options: []redis.DialOption{
		redis.DialConnectTimeout(redisTimeout), redis.DialTLSHandshakeTimeout(redisTimeout),
		redis.DialReadTimeout(redisTimeout), redis.DialWriteTimeout(redisTimeout),
	}}
	if u.User != nil {
		password, with := u.User.Password()
		if !with || password == "" {
			return address{}, errAddress // without a password Redis would be asked as anybody
		}
		a.options = append(a.options, redis.DialUsername(u.User.Username()), redis.DialPassword(password))
	}
	if u.Scheme == "unix" {
		a.network, a.at = "unix", u.Path
		if u.Host != "" || u.Path == "" {
			return address{}, errAddress
		}
		return a, nil
	}
	host, port := u.Hostname(), u.Port()
	if u.Scheme != "redis" && u.Scheme != "rediss" || u.Host == "" || host == "" {
		return address{}, errAddress
	}
	if port == "" {
		port = "6379"
	}
	a.at = net.JoinHostPort(host, port)
	if number := strings.TrimPrefix(strings.TrimSuffix(u.Path, "/"), "/"); number != "" {
		db, err := strconv.ParseUint(number, 10, 31)
		if err != nil {
			return address{}, errAddress
		}
		a.options = append(a.options, redis.DialDatabase(int(db)))
	}
	if u.Scheme == "rediss" {
		a.options = append(a.options, redis.DialUseTLS(true), redis.DialTLSConfig(&tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}))
	}
	return a, nil
}

// pool returns connections that are made when they are needed.
func (a address) pool() *redis.Pool {
	most := connectionsPerCPU * runtime.GOMAXPROCS(0)
	return &redis.Pool{
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, a.network, a.at, a.options...)
		},
		// By the context, so that a Redis that hangs is not waited for once a connection.
		TestOnBorrowContext: func(ctx context.Context, c redis.Conn, used time.Time) error {
			if time.Since(used) < trustTime {
				return nil
			}
			_, err := redis.DoContext(c, ctx, "PING")
			return err
		},
		MaxIdle: most, MaxActive: most, Wait: true, IdleTimeout: idleTime,
	}
}
