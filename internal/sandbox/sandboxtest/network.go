//go:build linux

package sandboxtest

import (
	"fmt"
	"io"
	"net"
	"time"
)

// service answers with the mark to whoever connects or sends.
func (s *scene) service(network, address string) net.Addr {
	s.Helper()
	if network == "udp" {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { c.Close() })
		go func() {
			for {
				_, from, err := c.ReadFrom(make([]byte, 100))
				if err != nil {
					return
				}
				s.Errorf("a datagram came from inside")
				_, _ = c.WriteTo([]byte(mark), from)
			}
		}()
		return c.LocalAddr()
	}
	l, err := net.Listen(network, address)
	if err != nil {
		s.Skipf("no such service here: %v", err)
	}
	s.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, mark+"\n")
			c.Close()
		}
	}()
	return l.Addr()
}

// networkTests are about connections.
var networkTests = []test{
	{"no service of the machine is reached by TCP", func(s *scene) {
		s.offline()
		a := s.service("tcp", "127.0.0.1:0").(*net.TCPAddr)
		all := s.service("tcp", "0.0.0.0:0").(*net.TCPAddr)
		s.unseen(s.bash(fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/%[1]d && cat <&3; exec 3<>/dev/tcp/localhost/%[1]d && cat <&3; curl -s -m 2 http://127.0.0.1:%[1]d/; curl -s -m 2 telnet://127.0.0.2:%[2]d`, a.Port, all.Port)))
		addresses, _ := net.InterfaceAddrs()
		for _, address := range addresses {
			if ip, ok := address.(*net.IPNet); ok && ip.IP.To4() != nil {
				s.unseen(s.bash(fmt.Sprintf(`exec 3<>/dev/tcp/%s/%d && cat <&3`, ip.IP, all.Port)))
			}
		}
	}},
	{"nor by datagrams", func(s *scene) {
		s.offline()
		a := s.service("udp", "127.0.0.1:0").(*net.UDPAddr)
		s.unseen(s.python(fmt.Sprintf(`
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.3)
s.sendto(b"x", ("127.0.0.1", %d))
print(s.recv(100))`, a.Port)))
	}},
	{"nor by other protocols", func(s *scene) {
		s.offline()
		said := s.python(`
for protocol in (262, 132, 33, 136):  # MPTCP, SCTP, DCCP, UDP-Lite
    try:
        s = socket.socket(socket.AF_INET, {33: 6}.get(protocol, 1 if protocol != 136 else 2), protocol)
        s.settimeout(0.2); s.connect(("198.51.100.1", 80)); print("CONNECTED" if protocol != 136 else "")
    except OSError as e: print(e)`)
		s.silent(said, "CONNECTED")
	}},
	{"nor by unix sockets", func(s *scene) {
		path := s.out + "/s.sock"
		if len(path) > 100 {
			s.Skip("the path is too long for a socket")
		}
		s.service("unix", path)
		s.service("unix", s.ws+"/w.sock")
		s.service("unix", "@holdfast-canary-abstract")
		s.unseen(s.python(fmt.Sprintf(`
for address in (%q, %q, "\0holdfast-canary-abstract"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            s = socket.socket(socket.AF_UNIX, kind); s.settimeout(0.5); s.connect(address); print(s.recv(100))
        except OSError as e: print(e)
        try:
            a, b = socket.socketpair(socket.AF_UNIX, kind); a.settimeout(0.5); a.connect(address); print(a.recv(100))
        except OSError as e: print(e)`, path, s.ws+"/w.sock")))
	}},
	{"nor by a datagram through a pair of sockets", func(s *scene) {
		path := s.ws + "/d.sock"
		c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
		if err != nil {
			s.Skip("the path is too long for a socket")
		}
		defer c.Close()
		s.python(fmt.Sprintf(`
for kind in (2, 3, 2 | 0x80000, 3 | 0x100000000):
    fds = (ctypes.c_int * 2)()
    if call(53, 1, kind, 0, ctypes.byref(fds)) == 0:
        a = socket.socket(fileno=fds[0])
        try: a.sendto(b"PWNED", %q)
        except OSError as e: print(e)`, path))
		if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			s.Fatal(err)
		}
		if n, _, _ := c.ReadFrom(make([]byte, 100)); n > 0 {
			s.Error("a datagram came")
		}
	}},
	{"no names, no metadata service, no other interface", func(s *scene) {
		s.offline()
		said := s.bash(`getent hosts example.com && echo NAME; curl -s -m 1 http://169.254.169.254/ && echo METADATA; exec 3<>/dev/tcp/169.254.169.254/80 && echo METADATA; tail -n +3 /proc/net/dev | grep -v ' *lo:' && echo INTERFACE; exec 3<>/dev/tcp/192.0.2.1/80 && echo OUT`)
		for _, word := range []string{"NAME", "METADATA", "INTERFACE", "OUT"} {
			s.silent(said, word)
		}
	}},
	{"other families of sockets", func(s *scene) {
		said := s.python(`
for family in list(range(1, 60)) + [0x100000001, 0x10000001e]:
    for kind in (1, 2, 3, 5, 10):
        for protocol in (0, 1, 3, 9, 16):
            r = call(41, family, kind, protocol)
            if r >= 0:
                os.close(r)
                if not (family in (2, 10) and kind in (1, 2) or family == 16 and protocol == 0): print("MADE", family, kind, protocol)
            elif family == 1 and r != -errno.EPERM: print("MADE not EPERM", r)`)
		s.silent(said, "MADE")
	}},
	{"a loopback of its own works", func(s *scene) {
		s.offline()
		s.says(s.python(`
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    l = socket.socket(family); l.bind((host, 0)); l.listen()
    c = socket.create_connection(l.getsockname()[:2], 2)
    l.accept()[0].send(b"x")
    print("CONNECTED", c.recv(1))
a, b = socket.socketpair(); a.send(b"x"); print("PAIR", b.recv(1))
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); print("ROUTE")`), "CONNECTED b'x'\nCONNECTED b'x'\nPAIR b'x'\nROUTE")
	}},
	{"nothing inside is reached from the machine, nor from another command", func(s *scene) {
		s.offline()
		port := s.service("tcp", "127.0.0.1:0").(*net.TCPAddr).Port + 1
		s.need("python3")
		_, said := s.start(s.Context(), "python3", "-c", fmt.Sprintf(`
import socket
l = socket.socket(); l.bind(("127.0.0.1", %d)); l.listen(); print("STARTED", flush=True)
while True: l.accept()[0].send(b"%s")`, port, mark))
		s.started(said)
		if c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second); err == nil {
			c.Close()
			s.Error("it was reached from the machine")
		}
		s.unseen(s.bash(fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/%d && head -c 5 <&3 && echo %s`, port, mark)))
	}},
	{"with the network of the machine, its services are reached", func(s *scene) {
		s.policy.Network = true
		a := s.service("tcp", "127.0.0.1:0").(*net.TCPAddr)
		s.says(s.bash(fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/%d && cat <&3`, a.Port)), mark)
		s.says(s.bash(`cat /etc/resolv.conf >/dev/null && echo READ`), "READ")
	}},
	{"with unix sockets, they work", func(s *scene) {
		s.policy.Unix = true
		s.says(s.python(`
l = socket.socket(socket.AF_UNIX); l.bind("/tmp/s"); l.listen()
c = socket.socket(socket.AF_UNIX); c.connect("/tmp/s"); l.accept()[0].send(b"x"); print("CONNECTED", c.recv(1))
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); print("PAIR")`), "CONNECTED b'x'\nPAIR")
		said := s.python(`
for family in (17, 38, 40):
    r = call(41, family, 3, 0)
    print("MADE" if r >= 0 else "refused")`)
		s.silent(said, "MADE")
	}},
}
