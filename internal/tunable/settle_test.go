package tunable_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/tunable/tunabletest"
)

func TestSettlingEnds(t *testing.T) {
	kernel := tunabletest.New()
	kernel.Attach("sda", "8:0", "a")
	h := kernel.Host()
	waited, changing := time.Duration(0), false
	h.Wait = func(ctx context.Context, d time.Duration) error {
		if waited += d; changing {
			kernel.Set("/sys/block/sda/queue/read_ahead_kb", strconv.Itoa(int(waited/time.Millisecond)/100*4))
		}
		return ctx.Err()
	}
	for _, c := range []struct {
		tunable  string
		changing bool
		want     time.Duration
	}{
		{"block.queue.scheduler", true, 0},
		{"ata.write_cache", false, 2 * time.Second},
		{"scsi.disk.cache_type", false, 2 * time.Second},
		{"ata.write_cache", true, 10 * time.Second},
	} {
		waited, changing = 0, c.changing
		if err := h.Settle(t.Context(), knob(t, h, c.tunable, "sda")); err != nil || waited != c.want {
			t.Errorf("%s, changing %v: waited %v, %v", c.tunable, c.changing, waited, err)
		}
	}
	h.Wait = nil // a timer
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := h.Settle(ctx, knob(t, h, "ata.write_cache", "sda")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := h.Settle(ctx, tunable.Knob{Tunable: "vm.dirty_ratio"}); err != nil {
		t.Errorf("nothing to wait for: %v", err)
	}
}
