package apart

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

const (
	// Command is the first argument that makes the program an engine.
	Command = "engine"
	program = "storagebench"
	// resultFile is the descriptor to which the result is written.
	resultFile = 3
	// ready is what the process writes when the engine can begin.
	ready = 'R'
)

// Become runs this process as an engine and ends it, if a runner started it as one. Otherwise
// it returns.
func Become(engines Finder) {
	if len(os.Args) < 3 || os.Args[1] != Command {
		return
	}
	var err error
	if len(os.Args) > 3 {
		err = confine(os.Args[3], os.Args[2])
	} else {
		err = serve(engines)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve executes one request of the runner.
func serve(engines Finder) error {
	// The engine's tools do not get this descriptor.
	unix.CloseOnExec(resultFile)
	out := os.NewFile(resultFile, "result")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if _, err := out.Write([]byte{ready}); err != nil {
		return fmt.Errorf("the runner: %w", err)
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	r.Env.Log = slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := os.Chdir(r.Env.Scratch); err != nil {
		return fmt.Errorf("the scratch directory: %w", err)
	}
	document, raw := r.do(ctx, engines)
	return writeReply(out, document, raw)
}

// do executes the request, and returns the reply.
func (r request) do(ctx context.Context, engines Finder) (document result.EngineResult, raw []byte) {
	document.Schema = result.EngineSchema
	var m *result.Measurement
	e, err := engines.Engine(r.Engine)
	if err == nil {
		document.OwnCPU, document.Elapsed = Quietly(func() { m, err = r.ask(ctx, e) })
	}
	if m != nil {
		document.Measurement, document.Rates, document.EngineCPU, raw = m, m.Rates, m.EngineCPU, m.RawOutput
	}
	if err != nil {
		document.Failure = trial.AsFailure(err)
	}
	return document, raw
}

func (r request) ask(ctx context.Context, e workload.Engine) (*result.Measurement, error) {
	switch r.Step {
	case prepare:
		return nil, e.Prepare(ctx, r.Env)
	case clean:
		if c, ok := e.(workload.Cleaner); ok {
			return nil, c.Clean(ctx, r.Env)
		}
		return nil, nil
	}
	return e.Run(ctx, r.Env)
}
