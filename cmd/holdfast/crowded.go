package main

import (
	"net"
	"sync"
)

// maxConnections bounds the connections over TCP where the system would give more.
const maxConnections = 1024

// connections is how many connections over TCP there may be at once: a quarter of
// the files that this process may open, so that whoever opens connections and says
// nothing can't take those that the socket, the servers and the store need.
func connections() int {
	if files := openFiles(); files > 0 {
		return int(max(8, min(files/4, maxConnections)))
	}
	return maxConnections
}

// crowdedListener lets only so many connections be open at once; others wait in the
// system's queue until one ends.
type crowdedListener struct {
	net.Listener
	free   chan struct{} // holds one for each open connection
	closed chan struct{}
	once   sync.Once
}

func limitConnections(l net.Listener, n int) *crowdedListener {
	return &crowdedListener{Listener: l, free: make(chan struct{}, n), closed: make(chan struct{})}
}

func (l *crowdedListener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &countedConn{Conn: c, left: sync.OnceFunc(func() { <-l.free })}, nil
}

func (l *crowdedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type countedConn struct {
	net.Conn
	left func()
}

func (c *countedConn) Close() error {
	defer c.left()
	return c.Conn.Close()
}
