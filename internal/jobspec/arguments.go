package jobspec

import (
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// shareFlag is followed by the worker's share of the run's budget.
const shareFlag = "--budget-share"

// arguments of the worker. Nobody can change those of a Job, so whatever the worker must be able to
// trust is here: the digests of what it reads, and how long its trials may take.
func arguments(in Input, digest, path string) []string {
	args := []string{
		"worker",
		"--plan", planDir + "/" + planFile,
		"--plan-digest", digest,
		"--worker", in.Worker.Name,
		"--target-path", targetPath(in, path),
		"--grant", grantDir + "/" + grantFile,
		"--grant-digest", in.GrantDigest,
		"--spool", workDir + "/spool",
		"--scratch", workDir + "/scratch",
		"--receipt", corev1.TerminationMessagePathDefault,
		"--timeout", strconv.Itoa(int(in.Timeout.Seconds())) + "s",
	}
	if in.Share != nil {
		args = append(args, shareFlag, in.Share.String())
	}
	if needsJournal(in) {
		args = append(args, "--journal", JournalDir)
	}
	return args
}

// Share returns the share of the run's budget that a worker's Job was made with; nil: none. The Job
// must be the API server's: the operator's cache keeps no arguments.
func Share(job *batchv1.Job) *time.Duration {
	for _, c := range job.Spec.Template.Spec.Containers {
		at := slices.Index(c.Args, shareFlag)
		if at < 0 || at+1 >= len(c.Args) {
			continue
		}
		if share, err := time.ParseDuration(c.Args[at+1]); err == nil {
			return &share
		}
	}
	return nil
}
