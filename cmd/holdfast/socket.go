package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"

	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// socketListener takes connections of one user, and of root, alone. The mode of
// the file says the same; the peer's user id is asked because a file's mode can be
// loosened, and because it says who acts.
type socketListener struct {
	net.Listener
	log *slog.Logger
}

// listenSocket opens the socket of a data directory of which the lock is held, so
// that a socket that is there already is left over from a process that is gone.
func listenSocket(dir string, log *slog.Logger) (*socketListener, error) {
	path := socketPath(dir)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fault.Wrap(err, fault.Storage, "the old socket can't be removed: "+plain(err), "remove "+path)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "the socket of the data directory can't be opened: "+plain(err), "the directory must be on a disk that can hold sockets")
	}
	if err := makeSocketPrivate(path); err != nil {
		l.Close()
		return nil, fault.Wrap(err, fault.Storage, "the socket can't be made private: "+plain(err), "")
	}
	return &socketListener{l, log}, nil
}

// knownConn is a connection of which the peer is known.
type knownConn struct {
	net.Conn
	uid int // -1 where the system does not tell; the directory keeps others out there
}

func (l *socketListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := peerUID(c.(*net.UnixConn))
		if err == nil && allowed(uid) {
			return &knownConn{c, uid}, nil
		}
		l.log.Warn("a connection to the socket was refused", "uid", uid, "err", err)
		c.Close()
	}
}

func allowed(uid int) bool { return uid == -1 || uid == 0 || uid == os.Getuid() }

type peerKey struct{}

// withPeer is for http.Server.ConnContext.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if k, ok := c.(*knownConn); ok {
		return context.WithValue(ctx, peerKey{}, record.Actor{Kind: record.Person, Name: userName(k.uid)})
	}
	return ctx
}

// peerOf is who a request over the socket is from; nobody for any other request.
func peerOf(r *http.Request) record.Actor {
	who, _ := r.Context().Value(peerKey{}).(record.Actor)
	return who
}

func userName(uid int) string {
	if uid < 0 {
		if u, err := user.Current(); err == nil {
			return u.Username
		}
		return ""
	}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "uid " + strconv.Itoa(uid)
}
