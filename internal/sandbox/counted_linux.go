package sandbox

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// counted is a spawner whose thread stands in a control group that counts processes, so
// that what it starts begins there. To bring a process into a group the kernel waits for
// every processor, ten milliseconds and more on a busy machine; a thread is brought there
// once, and its spawner is used again. It starts one program at a time.
type counted struct {
	spawner
	group pidsGroup
	spare *time.Timer // that dismisses it when nobody needs it
}

// beside is what the group counts besides the command: the thread, and bubblewrap.
const beside = 2

// spares are counted spawners that have nothing to do.
var spares struct {
	sync.Mutex
	all []*counted
}

const (
	mostSpares = 4
	spareFor   = 10 * time.Second // an empty group is in nobody's way, but not left for long
)

// newCounted gives a spawner for a command of so many processes. It fails where threads
// of one process can't be in different groups, as in the unified hierarchy: then the
// process is brought into a group of its own.
func newCounted(most int) (*counted, error) {
	c, dead := takeSpare()
	if c == nil {
		group, err := makeGroup(pidsHierarchy)
		if err != nil {
			return nil, err
		}
		c = &counted{newSpawner(), group, nil}
		if err := c.do(func() error { return group.write("tasks", unix.Gettid()) }); err != nil {
			c.dismiss()
			return nil, err
		}
	}
	if err := c.group.allow(most + beside + dead); err != nil {
		c.dismiss()
		return nil, err
	}
	return c, nil
}

// mostDead are the processes that have ended and still count in a group that is used
// again: until their parent looked, and that may be another program.
const mostDead = 64

// takeSpare takes one, and tells how many in its group have ended.
func takeSpare() (c *counted, dead int) {
	spares.Lock()
	defer spares.Unlock()
	for i, c := range slices.Backward(spares.all) {
		if dead = c.group.count() - 1; dead >= 0 && dead <= mostDead && c.spare.Stop() {
			spares.all = slices.Delete(spares.all, i, i+1)
			return c, dead
		}
	}
	return nil, 0
}

// finish ends what is left of the command, and keeps the spawner for the next one.
func (c *counted) finish() {
	if !c.group.end() {
		c.dismiss()
		return
	}
	c.rest()
}

// rest keeps the spawner for the next command. What it started must have ended.
func (c *counted) rest() {
	spares.Lock()
	defer spares.Unlock()
	if len(spares.all) >= mostSpares {
		c.dismiss()
		return
	}
	c.spare = time.AfterFunc(spareFor, func() {
		spares.Lock()
		spares.all = slices.DeleteFunc(spares.all, func(other *counted) bool { return other == c })
		spares.Unlock()
		c.dismiss()
	})
	spares.all = append(spares.all, c)
}

// Quit gives back what is kept ready for further commands, and ends those that run. A
// program calls it before it ends; control groups of one that was killed are removed by its
// watchdog, or the next that makes one.
func Quit() {
	watching.quit()
	spares.Lock()
	defer spares.Unlock()
	for _, c := range spares.all {
		if c.spare.Stop() {
			c.spawner.dismiss()
			c.group.await()
		}
	}
	spares.all = nil
}

// dismiss ends the thread, and removes the group.
func (c *counted) dismiss() {
	c.spawner.dismiss()
	c.group.remove()
}
