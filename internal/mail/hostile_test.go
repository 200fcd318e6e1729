package mail

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// A server (or whoever stands before STARTTLS) that never ends its greeting.
func TestEndlessGreetingIsBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sent := make(chan int, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		w := bufio.NewWriterSize(c, 1<<16)
		n := 0
		line := "220-" + strings.Repeat("x", 1900) + "\r\n"
		for {
			if _, err := w.WriteString(line); err != nil {
				sent <- n
				return
			}
			n += len(line)
		}
	}()
	s, err := NewSender(Config{URL: "smtp://mail.example.com", From: "a@b.example", Timeout: 5 * time.Second,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) { // whoever stands between, before STARTTLS
			return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
		}})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Send(context.Background(), Message{ID: "m", To: "c@d.example", Subject: "s", Text: "t", At: time.Now()})
	n := <-sent
	if err == nil || n > 8<<20 { // what the line holds is not read
		t.Errorf("%d MB of greeting were sent, and the error is %v", n>>20, err)
	}
}

// A server that repeats what it refuses puts the password into our log.
func TestRefusedLoginIsToldWithoutThePassword(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		fmt.Fprint(c, "220 hi\r\n")
		r.ReadString('\n')
		fmt.Fprint(c, "250-hi\r\n250 AUTH PLAIN\r\n")
		line, _ := r.ReadString('\n')
		fmt.Fprintf(c, "535 5.7.8 bad command: %s\r\n", strings.TrimSpace(line))
		r.ReadString('\n')
	}()
	s, err := NewSender(Config{URL: "smtp://cascada@" + l.Addr().String(), From: "a@b.example", Password: "hunter2hunter2"})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Send(context.Background(), Message{ID: "m", To: "c@d.example", Subject: "s", Text: "t", At: time.Now()})
	if text := fmt.Sprint(err); strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("\x00cascada\x00hunter2hunter2"))) {
		t.Errorf("the log would have: %s", text)
	}
}
