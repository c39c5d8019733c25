package hooks

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	maxOutput = 1 << 20                // bytes that a hook may print; more refuses
	maxErrOut = 64 << 10               // bytes of standard error that are kept
	drainTime = 250 * time.Millisecond // for what is in the pipes still when all is killed
	killTime  = 5 * time.Second        // for a killed process to be gone
)

var (
	errTooMuch   = errors.New("it printed more than 1 MiB")
	errImmortal  = errors.New("it can't be killed")
	errCancelled = errors.New("the call was cancelled")
)

// command is what is run, and what it reads.
type command struct {
	text  string
	dir   string
	env   []string
	input []byte
}

// execute runs a command by the shell, in a process group of its own, and waits for its
// end; then, and when ctx ends or it prints too much, the whole group is killed. It
// waits neither for descendants nor for who else holds its pipes.
func execute(ctx context.Context, c command) result {
	if ctx.Err() != nil {
		return result{err: ended(ctx)}
	}
	cmd := shell(c.text)
	cmd.Dir, cmd.Env = c.dir, c.env
	var g group
	g.prepare(cmd)
	p, err := pipes(cmd)
	if err != nil {
		return result{err: plain(err)}
	}
	defer p.closeOurs()
	keepDescriptors()
	err = cmd.Start()
	p.closeTheirs()
	if err != nil {
		return result{err: plain(err)}
	}
	g.adopt(cmd)
	defer g.release()

	tooMuch := make(chan struct{})
	out := &bounded{most: maxOutput, full: sync.OnceFunc(func() { close(tooMuch) })}
	errOut := &bounded{most: maxErrOut, full: func() {}}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(out, p.out) })
	reading.Go(func() { _, _ = io.Copy(errOut, p.errOut) })
	go func() { // a hook need not read what it is told
		_, _ = p.in.Write(c.input)
		p.in.Close()
	}()
	waited, err := await(ctx, &g, cmd, tooMuch)
	if err != nil {
		return result{err: err}
	}
	drain(&reading, p)
	res := result{out: out.bytes(), errOut: errOut.bytes()}
	if out.over() {
		res.err = errTooMuch
	}
	if x, ok := errors.AsType[*exec.ExitError](waited); ok {
		res.code = x.ExitCode()
		if res.code < 0 {
			res.err = errors.New("it was ended by a signal")
		}
	} else if waited != nil {
		res.err = waited
	}
	return res
}

// await waits for the command's end and kills what is left of its group. It kills it
// before, when ctx ends or it prints too much: err says so then.
func await(ctx context.Context, g *group, cmd *exec.Cmd, tooMuch <-chan struct{}) (waited, err error) {
	exited := make(chan struct{})
	var end error // set when exited is closed
	go func() { end = g.wait(cmd); close(exited) }()
	select {
	case <-exited:
		g.kill()
		return end, nil
	case <-ctx.Done():
		err = ended(ctx)
	case <-tooMuch:
		err = errTooMuch
	}
	g.kill()
	select {
	case <-exited:
	case <-time.After(killTime):
		err = errImmortal
	}
	return nil, err
}

// ended is why a context ended.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return errCancelled
}

// drain waits until the pipes are empty: at once, for all that the hook started is dead,
// or soon, where a descendant left the group and holds them.
func drain(reading *sync.WaitGroup, p *piped) {
	done := make(chan struct{})
	go func() { reading.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(drainTime):
		p.closeOurs()
	}
}

// piped are the pipes of one run.
type piped struct {
	in, out, errOut *os.File   // our ends
	theirs          []*os.File // the child's
}

func pipes(cmd *exec.Cmd) (*piped, error) {
	p := &piped{}
	var err error
	make2 := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	inR, inW := make2()
	outR, outW := make2()
	errR, errW := make2()
	p.in, p.out, p.errOut, p.theirs = inW, outR, errR, []*os.File{inR, outW, errW}
	if err != nil {
		p.closeOurs()
		p.closeTheirs()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	return p, nil
}

func (p *piped) closeOurs() {
	for _, f := range []*os.File{p.in, p.out, p.errOut} {
		f.Close() // of nil, and the second time, it fails and does nothing
	}
}

func (p *piped) closeTheirs() {
	for _, f := range p.theirs {
		f.Close()
	}
}

// bounded keeps the first bytes that are written to it, and takes all. Safe for
// concurrent use, as its writer may outlast its reader.
type bounded struct {
	mu   sync.Mutex
	kept []byte
	lost bool
	most int
	full func() // told when more came
}

func (b *bounded) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	room := b.most - len(b.kept)
	b.kept = append(b.kept, data[:min(room, len(data))]...)
	if len(data) > room {
		b.lost = true
		b.full()
	}
	return len(data), nil
}

func (b *bounded) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept
}

func (b *bounded) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}
