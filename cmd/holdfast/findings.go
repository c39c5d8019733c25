package main

// findings are how results of one kind are told: each as it comes, and an end. All are
// required.
type findings[T any] struct {
	each  func(T) error
	end   func() error
	flush func() error
	found func(T) bool // it is one that the exit code tells of
}

// report runs what gives the results, and returns errFound when there was a finding.
func (f findings[T]) report(run func(each func(T) error) error) error {
	found := false
	err := run(func(t T) error {
		found = found || f.found(t)
		return f.each(t)
	})
	if err == nil {
		err = f.end()
	}
	if ferr := f.flush(); err == nil {
		err = ferr
	}
	switch {
	case err != nil:
		return unwritten(err)
	case found:
		return errFound
	}
	return nil
}
