package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// figures are what was measured of one target.
type figures struct {
	name string
	// P50, p99 of one call at a time and calls a second of many at a time: medians over the rounds.
	p50, p99 time.Duration
	rate     float64
	cpu      time.Duration // of the processes in the middle, for one call
	rss      int64         // of the processes in the middle at the end, bytes
	calls    int
	// Medians of the ratios within a round.
	direct, forward ratios
	record          ratios // of a write; else zero
}

// ratios are a target's figures divided by another's of the same round.
type ratios struct{ p50, p99, rate float64 }

// outcome is one case: a transport and a payload.
type outcome struct {
	transport string
	payload   int
	figures   []figures
}

// block is the result of calls made one after another or many at a time.
type block struct {
	latencies []time.Duration // sorted
	wall      time.Duration
}

// quantile of a sorted block; q is below 1.
func (b block) quantile(q float64) time.Duration {
	return b.latencies[int(q*float64(len(b.latencies)))]
}

func (b block) rate() float64 { return float64(len(b.latencies)) / b.wall.Seconds() }

// sample is what one target did in one round.
type sample struct{ alone, many block }

// settle is the pause after a block. What a process does then is counted for the
// block that caused it.
const settle = 30 * time.Millisecond

func compareAll(ctx context.Context, p plan) ([]outcome, error) {
	var all []outcome
	for _, transport := range p.transports {
		for _, payload := range p.payloads {
			fmt.Fprintf(os.Stderr, "bench: %s, %s\n", transport, size(payload))
			c, err := compareCase(ctx, p, transport, payload)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", transport, size(payload), err)
			}
			all = append(all, c)
		}
	}
	return all, nil
}

func compareCase(ctx context.Context, p plan, transport string, payload int) (o outcome, err error) {
	targets, stop, err := stage(ctx, p, transport)
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return o, err
	}
	text := words(payload)
	alone, many := blockSizes(payload, p.effort)
	if err := warmUp(ctx, targets, text, many/4); err != nil {
		return o, err
	}
	samples := make([][]sample, len(targets))
	spent := make([]time.Duration, len(targets))
	for round := range p.rounds {
		for i := range targets {
			i = (i + round) % len(targets) // nobody is always the one after another
			t := targets[i]
			before, err := usage(t.pids)
			if err != nil {
				return o, fmt.Errorf("%s: %w", t.name, err)
			}
			var s sample
			if s.alone, err = t.block(ctx, text, alone, 1); err == nil {
				s.many, err = t.block(ctx, text, many, p.concurrent)
			}
			if err != nil {
				return o, fmt.Errorf("%s: %w", t.name, err)
			}
			time.Sleep(settle)
			after, err := usage(t.pids)
			if err != nil {
				return o, fmt.Errorf("%s: %w", t.name, err)
			}
			samples[i] = append(samples[i], s)
			spent[i] += after.cpu - before.cpu
		}
	}
	o = outcome{transport: transport, payload: payload}
	for i, t := range targets {
		f := summarize(t.name, samples[i], samples[direct], samples[forwarder])
		if t.tool == targets[recorder].tool {
			f.record = ofRounds(samples[i], samples[recorder])
		}
		f.cpu = spent[i] / time.Duration(f.calls)
		u, err := usage(t.pids)
		if err != nil {
			return o, fmt.Errorf("%s: %w", t.name, err)
		}
		f.rss = u.rss
		o.figures = append(o.figures, f)
	}
	return o, nil
}

// blockSizes are how many calls a block has: enough for a p99 of small ones, and
// about as long for large ones.
func blockSizes(payload int, effort float64) (alone, many int) {
	alone, many = 300, 1600
	if payload > 10_000 {
		alone, many = 50, 160
	}
	return max(4, int(float64(alone)*effort)), max(16, int(float64(many)*effort))
}

// warmUp makes some calls of everything, and sees that all answer alike.
func warmUp(ctx context.Context, targets []*target, text string, n int) error {
	var first string
	for i, t := range targets {
		if _, err := t.block(ctx, text, n, min(n, 16)); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		b, err := t.sessions[0].tool(ctx, t.tool, text)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		result := resultOf(string(b))
		if i == direct {
			first = result
		}
		if result != first {
			return fmt.Errorf("%s gives another result than a direct call: %.300s", t.name, result)
		}
	}
	return nil
}

// resultOf cuts the result out of an answer; ids differ.
func resultOf(answer string) string {
	_, after, _ := strings.Cut(answer, `"result":`)
	return strings.TrimRight(after, "}\n ")
}

// block makes n calls, c at a time, spread over the target's sessions.
func (t *target) block(ctx context.Context, text string, n, c int) (block, error) {
	var (
		next  atomic.Int64
		group sync.WaitGroup
		mu    sync.Mutex
		b     block
		fault error
	)
	start := time.Now()
	for i := range c {
		group.Go(func() {
			s := t.sessions[i%len(t.sessions)]
			var mine []time.Duration
			var err error
			for err == nil && next.Add(1) <= int64(n) {
				at := time.Now()
				_, err = s.tool(ctx, t.tool, text)
				mine = append(mine, time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			b.latencies = append(b.latencies, mine...)
			fault = errors.Join(fault, err)
		})
	}
	group.Wait()
	b.wall = time.Since(start)
	slices.Sort(b.latencies)
	return b, fault
}

// summarize gives medians over the rounds, of figures and of ratios to the same
// round of the direct call and of the forwarder.
func summarize(name string, mine, direct, forward []sample) figures {
	f := figures{name: name}
	var p50, p99, rate []float64
	for _, s := range mine {
		p50 = append(p50, float64(s.alone.quantile(0.5)))
		p99 = append(p99, float64(s.alone.quantile(0.99)))
		rate = append(rate, s.many.rate())
		f.calls += len(s.alone.latencies) + len(s.many.latencies)
	}
	f.p50, f.p99, f.rate = time.Duration(median(p50)), time.Duration(median(p99)), median(rate)
	f.direct, f.forward = ofRounds(mine, direct), ofRounds(mine, forward)
	return f
}

func ofRounds(mine, other []sample) ratios {
	var p50, p99, rate []float64
	for i, s := range mine {
		o := other[i]
		p50 = append(p50, float64(s.alone.quantile(0.5))/float64(o.alone.quantile(0.5)))
		p99 = append(p99, float64(s.alone.quantile(0.99))/float64(o.alone.quantile(0.99)))
		rate = append(rate, s.many.rate()/o.many.rate())
	}
	return ratios{median(p50), median(p99), median(rate)}
}

// median of at least one value, which it sorts.
func median(v []float64) float64 {
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// words gives n bytes that JSON does not escape.
func words(n int) string {
	const some = "every line of the list was read twice before the ship went out and nobody had missed the one that was wrong "
	return strings.Repeat(some, n/len(some)+1)[:n]
}
