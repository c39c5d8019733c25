package main

import (
	"errors"
	"net"
	"testing"
	"time"
)

// TestConnectionsAreLimited: over the limit a connection waits until one ends, and
// the end of the listener ends the waiting.
func TestConnectionsAreLimited(t *testing.T) {
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limitConnections(inner, 2)
	accepted, ended := make(chan net.Conn, 3), make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- c
		}
	}()
	for range 3 {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	first, second := <-accepted, <-accepted
	select {
	case <-accepted:
		t.Fatal("a third connection was taken")
	case <-time.After(50 * time.Millisecond):
	}
	_ = first.Close()
	_ = first.Close() // closed twice frees one place
	third := <-accepted
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	_, _ = second.Close(), third.Close()
	if n := connections(); n < 8 || n > maxConnections {
		t.Errorf("%d connections", n)
	}
}
