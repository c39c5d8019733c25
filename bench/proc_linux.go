package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// used is what a set of processes has taken so far.
type used struct {
	cpu time.Duration // user and system, in steps of 10 ms
	rss int64         // bytes
}

// tick is USER_HZ of every Linux that Go runs on.
const tick = 10 * time.Millisecond

// usage adds up what proc(5) says of the processes.
func usage(pids []int) (used, error) {
	var u used
	for _, pid := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return u, err
		}
		// Counted after the command's name, which may hold anything: 11 is utime,
		// 12 stime, 21 the resident pages.
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(f) < 22 {
			return u, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(f))
		}
		var n [3]int64
		for i, at := range []int{11, 12, 21} {
			if n[i], err = strconv.ParseInt(f[at], 10, 64); err != nil {
				return u, err
			}
		}
		u.cpu += time.Duration(n[0]+n[1]) * tick
		u.rss += n[2] * int64(os.Getpagesize())
	}
	return u, nil
}
