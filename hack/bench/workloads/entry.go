package main

import (
	"context"
	"fmt"
	"os"

	"storagebench.io/storagebench/hack/bench/paired"
)

// comparison is an entry whose side a must be at least as fast as wanted times side b.
type comparison struct {
	name string
	// a and b say in a few words what the sides are, and unit what their rates count.
	a, b, unit string
	// wanted is the least ratio of a to b.
	wanted float64
	// halfWidth of the interval that is narrow enough, of an entry whose runs take long
	// and whose ratio is not near to what is wanted; otherwise that of the effort.
	halfWidth float64
	// sides makes what both need. The lab removes what it made itself.
	sides func(ctx context.Context, l *lab) (a, b paired.Side, err error)
}

var _ entry = comparison{}

func (c comparison) id() string { return c.name }

func (c comparison) run(ctx context.Context, l *lab, effort paired.Effort) (string, bool, error) {
	a, b, err := c.sides(ctx, l)
	if err != nil {
		return "", false, err
	}
	effort.HalfWidth = max(effort.HalfWidth, c.halfWidth)
	r, err := paired.Compare(ctx, effort, a, b, func(r paired.Result) {
		n := len(r.A)
		fmt.Fprintf(os.Stderr, "%s: pair %d: %s %.6g, %s %.6g %s; ratio so far %.3f (%.3f to %.3f)\n", c.name, n, c.a, r.A[n-1], c.b, r.B[n-1], c.unit, r.Ratio, r.Low, r.High)
	})
	if err != nil {
		return "", false, err
	}
	figure := fmt.Sprintf("%s/%s %.3f (95 %% interval %.3f to %.3f, wanted at least %.2f), %d pairs, medians %.6g and %.6g %s",
		c.a, c.b, r.Ratio, r.Low, r.High, c.wanted, len(r.A), r.MedianA(), r.MedianB(), c.unit)
	return figure, r.Ratio >= c.wanted, nil
}

// check is an entry that is no ratio, such as how much memory something takes.
type check struct {
	name string
	do   func(ctx context.Context, l *lab) (figure string, ok bool, err error)
}

var _ entry = check{}

func (c check) id() string { return c.name }

func (c check) run(ctx context.Context, l *lab, _ paired.Effort) (string, bool, error) {
	return c.do(ctx, l)
}
