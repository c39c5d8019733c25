package main

import "net"

// peerUID knows nothing here: the access list of the data directory, which holds
// for the socket in it, lets only this user and the system in.
func peerUID(*net.UnixConn) (int, error) { return -1, nil }
