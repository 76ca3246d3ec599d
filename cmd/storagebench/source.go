package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/report/gather"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
	"storagebench.io/storagebench/internal/samples/codec"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/dir"
	"storagebench.io/storagebench/internal/store/s3"
	"storagebench.io/storagebench/internal/trial"
)

// source is where the documents of a run are.
type source struct {
	// name is what the user wrote.
	name string
	// objects holds the run's documents with keys below the run's directory; nil: there is only
	// the summary.
	objects store.Objects
	// digest that the summary must have; empty: any.
	digest string
	// document is the summary, if it was read already.
	document []byte
	// summary is the run as the status of a StorageBenchmark has it, if nothing else can be read.
	summary *result.Summary
}

// sourceHelp describes what commands that read a run take.
const sourceHelp = `A run is a summary.json, or a directory with one run below it that run --out or import --out
wrote; s3://BUCKET/PREFIX, as status.run.location has it, with the environment variables of AWS
(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL_S3
or AWS_ENDPOINT_URL, AWS_CA_BUNDLE); or NAMESPACE/NAME, a StorageBenchmark in the cluster that
kubectl would use. - is stdin.`

// benchmarkPattern is NAMESPACE/NAME.
var benchmarkPattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

// openSource finds the documents of a run. A file or directory goes before a benchmark of the same
// name.
func openSource(ctx context.Context, name string, stdin io.Reader) (source, error) {
	if strings.HasPrefix(name, "s3://") {
		return openBucket(name, "", nil)
	}
	if _, err := os.Stat(name); name != "-" && errors.Is(err, os.ErrNotExist) && benchmarkPattern.MatchString(name) {
		src, err := openBenchmark(ctx, name)
		if err != nil {
			return src, fmt.Errorf("%s is no file, and as a StorageBenchmark in the cluster: %w", name, err)
		}
		return src, nil
	}
	document, path, err := readDocument(name, stdin)
	if err != nil {
		return source{}, err
	}
	s := source{name: path, document: document}
	if filepath.Base(path) == "summary.json" && name != "-" {
		if s.objects, err = dir.New(filepath.Dir(path)); err != nil {
			return source{}, err
		}
	}
	return s, nil
}

// downloadTimeout of an object: somebody who waits at a slow line can stop it.
const downloadTimeout = 15 * time.Minute

// openBucket opens the run at s3://BUCKET/PREFIX, whose endpoint and authority are those of the
// environment, or else the given ones.
func openBucket(address, endpoint string, authority []byte) (source, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.User != nil || u.Fragment != "" {
		return source{}, badInput("the address", "expected s3://BUCKET/PREFIX", "copy it from status.run.location")
	}
	prefix := strings.TrimSuffix(strings.Trim(u.Path, "/"), "summary.json")
	config := s3.Config{
		Bucket: u.Host, Prefix: prefix, Region: firstOf("AWS_REGION", "AWS_DEFAULT_REGION"),
		AccessKey: os.Getenv("AWS_ACCESS_KEY_ID"), SecretKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
		Endpoint: firstOf("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"), CABundle: authority,
		Timeout: downloadTimeout,
	}
	if config.AccessKey == "" || config.SecretKey == "" {
		return source{}, badInput(address, "the environment has no credentials for it", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	if config.Endpoint == "" {
		config.Endpoint = endpoint
	}
	if config.Endpoint == "" {
		config.Endpoint = "https://s3." + cmp.Or(config.Region, "us-east-1") + ".amazonaws.com"
	}
	if file := os.Getenv("AWS_CA_BUNDLE"); file != "" {
		if config.CABundle, err = readBounded(file, 1<<20); err != nil {
			return source{}, fmt.Errorf("AWS_CA_BUNDLE: %w", err)
		}
	}
	bucket, err := s3.New(config)
	if err != nil {
		return source{}, usage(err)
	}
	return source{name: address, objects: bucket}, nil
}

func firstOf(variables ...string) string {
	var values []string
	for _, v := range variables {
		values = append(values, os.Getenv(v))
	}
	return cmp.Or(values...)
}

// openBenchmark finds the run of a StorageBenchmark: in its result store, if the environment has
// credentials for that, or else what its status says.
func openBenchmark(ctx context.Context, name string) (source, error) {
	f := clusterFlags{}
	c, _, err := f.client()
	if err != nil {
		return source{}, err
	}
	namespace, short, _ := strings.Cut(name, "/")
	b, err := fetchBenchmark(ctx, c, namespace, short)
	if err != nil {
		return source{}, err
	}
	if b.Status.Run == nil || b.Status.Run.FinishedAt == nil {
		return source{}, badInput(name, "its run has not ended", "follow it with: storagebench watch "+short+" -n "+namespace)
	}
	location := b.Status.Run.Location
	if os.Getenv("AWS_ACCESS_KEY_ID") == "" || location == "" {
		summary := summaryOfStatus(b)
		return source{name: name, summary: &summary}, nil
	}
	endpoint, authority, err := storeOf(ctx, c, b)
	if err != nil {
		return source{}, err
	}
	src, err := openBucket(location, endpoint, authority)
	src.digest = b.Status.Run.SummaryDigest
	return src, err
}

// storeOf returns the endpoint of the store that has a run's results, and its authority; none if
// the environment names one. It asks that store alone: another one of the same bucket's name may be
// anybody's, who would get the name of the credentials and a signature.
func storeOf(ctx context.Context, c client.Reader, b *v1alpha1.StorageBenchmark) (endpoint string, authority []byte, err error) {
	rs, location := &v1alpha1.ResultStore{}, b.Status.Run.Location
	err = c.Get(ctx, types.NamespacedName{Name: b.ResultStoreName()}, rs)
	if err == nil && strings.HasPrefix(location, strings.TrimSuffix("s3://"+rs.Spec.Bucket+"/"+rs.Spec.Prefix, "/")+"/") {
		return rs.Spec.Endpoint, rs.Spec.CABundle, nil
	}
	if firstOf("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") != "" {
		return "", nil, nil
	}
	message := fmt.Sprintf("the results are in %s, and ResultStore %s is another place by now", location, rs.Name)
	if err != nil {
		message = fmt.Sprintf("its result store's endpoint cannot be read: %v", err)
	}
	return "", nil, badInput(b.Namespace+"/"+b.Name, message, "set AWS_ENDPOINT_URL to the endpoint of the store that has the results")
}

// summaryOfStatus is a run as the status has it: without histograms, environment and trials.
func summaryOfStatus(b *v1alpha1.StorageBenchmark) result.Summary {
	run := b.Status.Run
	s := result.Summary{
		Schema: result.SummarySchema, Benchmark: trial.Benchmark{Namespace: b.Namespace, Name: b.Name, UID: string(b.UID)}, Run: run.ID,
		Planned: int(run.TrialsPlanned), Stored: int(run.TrialsStored), Rows: status.Rows(b.Status), Comparisons: status.Comparisons(b.Status), Baseline: status.Baseline(b.Status),
		Answer: status.Answer(b.Status), Gates: status.Gates(b.Status), Sweeps: status.Sweeps(b.Status),
		Failures: map[string]*trial.Failure{},
	}
	if run.FinishedAt != nil {
		s.FinishedAt = run.FinishedAt.Time
	}
	for _, f := range run.Failures {
		s.Failures[f.Worker] = &trial.Failure{Class: trial.Class(f.Reason), Message: f.Message}
	}
	return s
}

// readSummary reads a run's summary from wherever it is.
func readSummary(ctx context.Context, name string, stdin io.Reader) (result.Summary, error) {
	src, err := openSource(ctx, name, stdin)
	if err != nil {
		return result.Summary{}, err
	}
	return src.readSummary(ctx)
}

func (src source) readSummary(ctx context.Context) (result.Summary, error) {
	s := result.Summary{}
	if src.summary != nil {
		return *src.summary, nil
	}
	document := src.document
	if document == nil {
		var err error
		document, err = src.objects.GetLimited(ctx, "summary.json", result.MaxRunSummary)
		if errors.Is(err, store.ErrNotFound) {
			return s, badInput(src.name, "there is no summary.json of a run", "use the address of a run that has finished, as status.run.location has it")
		}
		if err != nil {
			return s, fmt.Errorf("%s: %w", src.name, err)
		}
	}
	if got := trial.Digest(document); src.digest != "" && got != src.digest {
		return s, badInput(src.name, fmt.Sprintf("its summary.json is not the one that the operator stored: its digest is %s, and status.run.summaryDigest is %s", got, src.digest),
			"somebody has replaced it; read what the status has, without AWS_ACCESS_KEY_ID in the environment")
	}
	if err := result.Decode(document, result.SummarySchema, &s); err != nil {
		return s, badInput(src.name, strings.TrimPrefix(err.Error(), "result: "), "use the summary.json of a run, or the run's directory")
	}
	return s, nil
}

// maxTrialsRead bounds the memory for the trials of a run.
const maxTrialsRead = 20_000

// trials reads the trials of a run from the summaries of its workers, and of how many workers
// there is none. What the operator accepted of a worker goes before what the worker stored.
func (src source) trials(ctx context.Context, s result.Summary) (out []report.WorkerTrials, missing int, err error) {
	left := maxTrialsRead
	for _, worker := range slices.Sorted(maps.Keys(s.Attempts)) {
		w, err := src.worker(ctx, s, worker)
		if err != nil {
			return nil, 0, err
		}
		if w == nil {
			missing++
			continue
		}
		n := min(left, len(w.Trials))
		left -= n
		out = append(out, report.WorkerTrials{Worker: w.Worker, Trials: w.Trials[:n], Omitted: len(w.Trials) - n})
	}
	return out, missing, nil
}

// worker reads one worker's summary, or returns nil if there is none of this run.
func (src source) worker(ctx context.Context, s result.Summary, worker string) (*result.WorkerSummary, error) {
	keys := trial.Keys{}
	for _, key := range []string{relative(keys, keys.Accepted(worker)), relative(keys, keys.WorkerSummary(worker))} {
		if src.objects == nil || !isKey(key) {
			return nil, nil
		}
		document, err := src.objects.GetLimited(ctx, key, result.MaxWorkerSummary)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", src.name, err)
		}
		w, err := result.DecodeWorkerSummary(document, "")
		if err != nil {
			return nil, badInput(src.name+"/"+key, err.Error(), "read the summary.json alone, in a directory of its own")
		}
		if w.Run != s.Run || w.Benchmark != s.Benchmark || w.Worker.Name != worker {
			return nil, badInput(src.name+"/"+key, "it is of another run or worker", "use the directory of one run")
		}
		return w, nil
	}
	return nil, nil
}

// seriesLimits bound the samples in a page.
var seriesLimits = gather.Limits{Trials: 1000, Bytes: 256 << 20, Object: result.MaxSamples, Rows: samples.MaxRows}

func samplesKey(worker, name string) string {
	keys := trial.Keys{}
	return relative(keys, keys.Samples(worker, name))
}

// samples returns the samples of a trial, WORKER/TRIAL, as they are stored.
func (src source) samples(ctx context.Context, name string) ([]byte, error) {
	worker, id, ok := strings.Cut(name, "/")
	key := samplesKey(worker, id)
	if !ok || store.CheckKey(key) != nil {
		return nil, usage(fmt.Errorf("--trial %q is not WORKER/TRIAL", name))
	}
	if src.objects == nil {
		return nil, badInput(src.name, "there are no samples, only the run's summary", "use the run's directory or its s3:// address")
	}
	body, err := src.objects.GetLimited(ctx, key, result.MaxSamples)
	if errors.Is(err, store.ErrNotFound) {
		return nil, badInput(src.name, "there is no "+key, "list the trials with: storagebench report -o csv --of trials "+src.name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.name, err)
	}
	if _, err := codec.Decode(body); err != nil {
		return nil, badInput(src.name+"/"+key, err.Error(), "use a run of this release")
	}
	return body, nil
}

// relative is a key below the run's directory.
func relative(keys trial.Keys, key string) string { return strings.TrimPrefix(key, keys.Prefix()) }

// isKey reports whether a key that comes out of a document can be one of a store.
func isKey(key string) bool { return store.CheckKey(key) == nil }
