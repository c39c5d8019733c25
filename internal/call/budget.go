package call

import (
	"cmp"
	"context"
	"time"
)

// What one validation may use. A unit of work is about 10 ns, so the work is about a
// quarter of a second. How many units there are depends on schema and arguments alone;
// the time is for what the units do not foresee, and longer, so that a busy machine does
// not refuse what an idle one takes.
const (
	maxWork    = 25_000_000
	maxTime    = 500 * time.Millisecond
	checkEvery = 2_000 // units between two looks at the clock
	visit      = 50    // units of one place that is applied to one value
	failure    = 400   // units of what is said of one that does not fit
)

// budget is what one validation may still use. One instance owns it. A validation that
// is over it, or whose caller left, ends with a panic of overBudget, for the library
// can't be stopped otherwise; everything that costs asks here first.
type budget struct {
	ctx   context.Context
	work  int
	next  int // work at which the clock is looked at
	until time.Time
	time  time.Duration // of a validation; 0: maxTime
}

type overBudget struct{}

func (b *budget) start(ctx context.Context) {
	*b = budget{ctx: ctx, time: b.time, until: time.Now().Add(cmp.Or(b.time, maxTime))}
}

// spend is called before so many units of work are done.
func (b *budget) spend(units int) {
	if b.work += units; b.work < b.next {
		return
	}
	b.next = b.work + checkEvery
	if b.work > maxWork || b.ctx.Err() != nil || time.Now().After(b.until) {
		panic(overBudget{})
	}
}

// left is the time that is left; it does not return when there is none.
func (b *budget) left() time.Duration {
	left := time.Until(b.until)
	if left <= 0 || b.ctx.Err() != nil {
		panic(overBudget{})
	}
	return left
}
