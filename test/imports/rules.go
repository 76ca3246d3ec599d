package imports

// Rule says what the packages of one path may import.
type Rule struct {
	// Path of the package below the module's. "/..." at its end takes in all below.
	Path string
	// Own are the packages of this module that it may import, written like Path.
	Own []string
	// Foreign are the beginnings of other modules' paths that it may import.
	Foreign []string
	// Pure: no client, no files, no log, no clock, no unseeded randomness.
	Pure bool
	// Bare: never Kubernetes, not even through others.
	Bare bool
}

// Module is the path of this module.
const Module = "storagebench.io/storagebench"

// Vocabulary is the package of words that every package may import.
const Vocabulary = "api/reason"

var (
	kubernetesTypes = []string{"k8s.io/api/", "k8s.io/apimachinery/"}
	// kubernetes is what a bare package must not depend on.
	kubernetes          = []string{"k8s.io/", "sigs.k8s.io/", Module + "/api/v1alpha1", Module + "/controllers"}
	system              = []string{"golang.org/x/sys/"}
	controllerFramework = []string{"k8s.io/", "sigs.k8s.io/controller-runtime", "github.com/go-logr/logr"}
)

// Rules is the allow-list. A new package, or a new edge, is added here, in the
// commit that adds it, so that it is seen in review.
var Rules = []Rule{
	// The API and the contract between operator and runner.
	{Path: "api/reason", Pure: true, Bare: true}, // the vocabulary: everybody may import it
	{Path: "api/v1alpha1", Foreign: kubernetesTypes},
	{Path: "internal/trial", Pure: true, Bare: true},
	{Path: "internal/histogram", Pure: true, Bare: true},
	{Path: "internal/result", Own: []string{"internal/trial", "internal/histogram", "internal/steady"}, Pure: true, Bare: true},

	{Path: "internal/suggest", Pure: true, Bare: true}, // did you mean

	// The pure middle.
	{Path: "internal/plan", Own: []string{"api/v1alpha1", "internal/result", "internal/stats", "internal/steady", "internal/suggest", "internal/trial"}, Foreign: kubernetesTypes, Pure: true},
	{Path: "internal/policy", Own: []string{"api/v1alpha1", "internal/trial"}, Foreign: kubernetesTypes, Pure: true},
	{Path: "internal/jobspec", Own: []string{"internal/trial"}, Foreign: kubernetesTypes, Pure: true},
	{Path: "internal/progress", Pure: true, Bare: true},
	{Path: "internal/knee", Own: []string{"internal/result", "internal/trial", "internal/verdict"}, Pure: true, Bare: true},
	{Path: "internal/stopping", Own: []string{"internal/knee", "internal/report", "internal/trial", "internal/result", "internal/stats"}, Pure: true, Bare: true},
	{Path: "internal/stats", Own: []string{"internal/knee", "internal/trial", "internal/result", "internal/report", "internal/histogram", "internal/verdict"}, Foreign: []string{"gonum.org/v1/gonum/stat"}, Pure: true, Bare: true},
	{Path: "internal/steady", Pure: true, Bare: true},
	{Path: "internal/verdict", Own: []string{"internal/report", "internal/result", "internal/samples", "internal/steady"}, Pure: true, Bare: true},
	{Path: "internal/report", Own: []string{"internal/result", "internal/trial"}, Pure: true, Bare: true},
	{Path: "internal/report/page", Own: []string{"internal/histogram", "internal/report", "internal/result", "internal/samples", "internal/suggest", "internal/trial"}, Pure: true, Bare: true},
	{Path: "internal/report/gather", Own: []string{"internal/report", "internal/report/page", "internal/samples/codec", "internal/store"}, Bare: true},
	{Path: "internal/report/export", Own: []string{"internal/report", "internal/result", "internal/trial"}, Pure: true, Bare: true},
	{Path: "internal/printed", Pure: true, Bare: true},
	{
		Path: "internal/importer",
		Own:  []string{"internal/suggest", "internal/trial", "internal/result", "internal/stats", "internal/verdict", "internal/printed", "internal/workload/fio", "internal/workload/bonnie", "internal/workload/iozone"},
		Pure: true, Bare: true,
	},
	{Path: "internal/compare", Own: []string{"internal/result", "internal/report", "internal/suggest", "internal/trial"}, Pure: true, Bare: true},
	{Path: "internal/status", Own: []string{"api/v1alpha1", "internal/compare", "internal/progress", "internal/report", "internal/result", "internal/trial"}, Foreign: kubernetesTypes, Pure: true},

	// Schedules.
	{Path: "internal/changes", Foreign: []string{"gonum.org/v1/gonum/stat"}, Pure: true, Bare: true},
	{Path: "internal/schedule", Foreign: []string{"github.com/robfig/cron/v3"}, Pure: true, Bare: true},
	{Path: "internal/timetable", Own: []string{"api/v1alpha1", "internal/schedule"}},
	{Path: "internal/history", Own: []string{"api/v1alpha1", "internal/changes", "internal/result"}, Foreign: kubernetesTypes, Pure: true},

	{Path: "internal/qualify", Own: []string{"api/v1alpha1", "internal/result", "internal/suggest"}, Foreign: kubernetesTypes, Pure: true},

	// Stores of results. The S3 SDK is in one place.
	{Path: "internal/store", Own: []string{"internal/trial", "internal/result"}, Bare: true},
	{Path: "internal/store/dir", Own: []string{"internal/store", "internal/trial", "internal/result"}, Bare: true},
	{Path: "internal/store/presigned", Own: []string{"internal/store", "internal/trial", "internal/result"}, Bare: true},
	{Path: "internal/fair", Bare: true}, // connections and uploads that are bounded
	{Path: "internal/store/inbox", Own: []string{"internal/fair", "internal/store", "internal/trial", "internal/result"}, Bare: true},
	{Path: "internal/store/s3", Own: []string{"internal/store", "internal/trial", "internal/result"}, Foreign: []string{"github.com/minio/minio-go/v7"}, Bare: true},
	{Path: "internal/store/s3/miniotest", Foreign: []string{"github.com/minio/minio-go/v7"}}, // for tests

	// What runs on the machine that is measured.
	{Path: "internal/nofollow", Foreign: system, Bare: true},
	{Path: "internal/device", Own: []string{"internal/trial", "internal/result"}, Foreign: append([]string{"github.com/moby/sys/mountinfo"}, system...), Bare: true},
	{Path: "internal/device/devicetest"}, // for tests
	{Path: "internal/environment", Own: []string{"internal/device", "internal/trial", "internal/result"}, Foreign: append([]string{"github.com/prometheus/procfs"}, system...), Bare: true},
	{Path: "internal/powercut", Bare: true},
	{Path: "internal/observe/blockio", Own: []string{"internal/histogram", "internal/result"}, Foreign: append([]string{"github.com/cilium/ebpf"}, system...), Bare: true},
	{Path: "internal/observe", Own: []string{"internal/result", "internal/samples"}, Bare: true},
	{Path: "internal/samples", Pure: true, Bare: true},
	{Path: "internal/samples/codec", Own: []string{"internal/samples"}, Foreign: []string{"github.com/parquet-go/parquet-go", "github.com/klauspost/compress/zstd"}, Bare: true},
	{Path: "internal/workload", Own: []string{"internal/device", "internal/trial", "internal/result", "internal/suggest"}, Bare: true},
	{Path: "internal/workload/defaultstest", Own: []string{"api/v1alpha1", "config/crd", "internal/plan"}, Foreign: []string{"sigs.k8s.io/yaml"}}, // for tests
	{Path: "internal/workload/tool", Bare: true},
	{Path: "internal/workload/native", Own: []string{"internal/workload/tool"}, Foreign: system, Bare: true},
	{
		Path:    "internal/workload/apart",
		Own:     []string{"internal/nofollow", "internal/workload", "internal/workload/tool", "internal/trial", "internal/result"},
		Foreign: append([]string{"github.com/moby/sys/mountinfo"}, system...),
		Bare:    true,
	},
	{Path: "internal/workload/engines", Own: []string{"internal/suggest", "internal/trial", "internal/workload", "internal/workload/bonnie", "internal/workload/bandwidth", "internal/workload/filesync", "internal/workload/fio", "internal/workload/flushladder", "internal/workload/iozone", "internal/workload/postmark"}, Bare: true},
	{
		Path:    "internal/workload/postmark",
		Own:     []string{"internal/workload", "internal/workload/native", "internal/suggest", "internal/trial", "internal/result", "internal/histogram"},
		Foreign: system,
		Bare:    true,
	},
	{
		Path:    "internal/workload/bandwidth",
		Own:     []string{"internal/workload", "internal/workload/native", "internal/workload/tool", "internal/device", "internal/suggest", "internal/trial", "internal/result", "internal/histogram"},
		Foreign: system,
		Bare:    true,
	},
	{
		Path:    "internal/workload/flushladder",
		Own:     []string{"internal/workload", "internal/workload/native", "internal/trial", "internal/result", "internal/histogram"},
		Foreign: system,
		Bare:    true,
	},
	{
		Path:    "internal/workload/filesync",
		Own:     []string{"internal/workload", "internal/workload/native", "internal/suggest", "internal/trial", "internal/result", "internal/histogram"},
		Foreign: system,
		Bare:    true,
	},
	{
		Path:    "internal/workload/bonnie",
		Own:     []string{"internal/printed", "internal/workload", "internal/workload/tool", "internal/trial", "internal/result"},
		Foreign: system,
		Bare:    true,
	},
	{
		Path: "internal/workload/iozone",
		Own:  []string{"internal/printed", "internal/workload", "internal/workload/tool", "internal/device", "internal/suggest", "internal/trial", "internal/result"},
		Bare: true,
	},
	{
		Path:    "internal/workload/fio",
		Own:     []string{"internal/printed", "internal/workload", "internal/workload/native", "internal/workload/tool", "internal/device", "internal/trial", "internal/result", "internal/histogram", "internal/suggest"},
		Foreign: system,
		Bare:    true,
	},
	{Path: "internal/workload/fio/wild", Pure: true, Bare: true},             // for tests
	{Path: "internal/workload/fio/seccomptest", Foreign: system, Bare: true}, // for tests
	{Path: "internal/tunable", Own: []string{"internal/device", "internal/result", "internal/suggest", "internal/trial"}, Foreign: system, Bare: true},
	{Path: "internal/tunable/tunabletest", Own: []string{"internal/tunable"}, Bare: true}, // for tests
	{Path: "internal/runner/journal", Own: []string{"internal/tunable", "internal/trial"}, Foreign: system, Bare: true},
	{
		Path:    "internal/runner",
		Own:     []string{"internal/workload", "internal/workload/apart", "internal/nofollow", "internal/device", "internal/environment", "internal/observe", "internal/observe/blockio", "internal/samples", "internal/samples/codec", "internal/tunable", "internal/runner/journal", "internal/steady", "internal/stopping", "internal/store", "internal/store/dir", "internal/trial", "internal/result", "internal/verdict"},
		Foreign: append([]string{"github.com/cenkalti/backoff/v5", "github.com/klauspost/compress/zstd"}, system...),
		Bare:    true,
	},

	// The operator. Nobody imports controllers but its program, and nobody a program.
	{
		Path:    "controllers",
		Own:     []string{"api/v1alpha1", "controllers/...", "internal/plan", "internal/policy", "internal/jobspec", "internal/store/inbox"},
		Foreign: controllerFramework,
	},
	{
		Path: "controllers/benchmark",
		Own: []string{
			"api/v1alpha1", "controllers/action", "controllers/admission", "controllers/leases", "controllers/nodes", "controllers/restore",
			"controllers/results", "controllers/state", "controllers/stores", "controllers/trim", "controllers/workers", "controllers/written", "internal/jobspec", "internal/plan", "internal/policy", "internal/progress", "internal/status", "internal/stopping", "internal/store/inbox", "internal/trial",
		},
		Foreign: controllerFramework,
	},
	{
		Path:    "controllers/schedule",
		Own:     []string{"api/v1alpha1", "controllers/action", "controllers/stores", "controllers/trim", "internal/history", "internal/plan", "internal/schedule", "internal/status", "internal/timetable"},
		Foreign: controllerFramework,
	},
	{
		Path:    "controllers/admission",
		Own:     []string{"api/v1alpha1", "controllers/nodes", "controllers/stores", "internal/jobspec", "internal/plan", "internal/policy", "internal/status", "internal/suggest", "internal/trial"},
		Foreign: controllerFramework,
	},
	{
		Path:    "controllers/leases",
		Own:     []string{"api/v1alpha1", "controllers/action", "internal/jobspec", "internal/plan", "internal/progress"},
		Foreign: controllerFramework,
	},
	{
		Path: "controllers/workers",
		Own: []string{
			"api/v1alpha1", "controllers/action", "controllers/admission", "controllers/nodes", "controllers/restore", "controllers/state", "controllers/written", "controllers/stores", "controllers/trim",
			"internal/jobspec", "internal/plan", "internal/progress", "internal/status", "internal/store", "internal/trial",
		},
		Foreign: controllerFramework,
	},
	{
		Path:    "controllers/results",
		Own:     []string{"api/v1alpha1", "controllers/stores", "internal/compare", "internal/report", "internal/report/gather", "internal/report/page", "internal/result", "internal/stats", "internal/status", "internal/stopping", "internal/store", "internal/store/inbox", "internal/trial"},
		Foreign: controllerFramework,
	},
	{
		Path:    "controllers/restore",
		Own:     []string{"api/v1alpha1", "controllers/action", "controllers/nodes", "controllers/state", "controllers/written", "internal/jobspec", "internal/status", "internal/trial"},
		Foreign: controllerFramework,
	},
	{Path: "controllers/nodes", Own: []string{"api/v1alpha1"}, Foreign: controllerFramework},
	{
		Path:    "controllers/stores",
		Own:     []string{"api/v1alpha1", "controllers/action", "internal/jobspec", "internal/result", "internal/status", "internal/store", "internal/store/inbox", "internal/store/s3", "internal/trial"},
		Foreign: append([]string{"github.com/prometheus/client_golang/prometheus"}, controllerFramework...),
	},
	{Path: "controllers/state", Foreign: controllerFramework},
	{Path: "controllers/fence", Foreign: controllerFramework},
	{Path: "controllers/trim", Own: []string{"api/v1alpha1", "internal/jobspec"}, Foreign: kubernetesTypes},
	{Path: "controllers/written", Foreign: []string{"k8s.io/apimachinery/pkg/types"}},
	{Path: "controllers/metrics", Own: []string{"api/v1alpha1", "controllers/leases"}, Foreign: append([]string{"github.com/prometheus/client_golang/prometheus"}, controllerFramework...)},
	{Path: "controllers/metrics/access", Foreign: controllerFramework},
	{Path: "controllers/action", Foreign: append([]string{"github.com/prometheus/client_golang/prometheus"}, controllerFramework...)},
	{
		Path:    "cmd/manager",
		Own:     []string{"api/v1alpha1", "controllers", "controllers/metrics/access", "internal/fair", "internal/jobspec", "internal/tunable", "internal/workload/engines"},
		Foreign: []string{"k8s.io/", "github.com/prometheus/client_golang/prometheus/promhttp", "sigs.k8s.io/controller-runtime", "github.com/spf13/cobra", "github.com/spf13/pflag"},
	},
	{Path: "config/crd"}, // embeds the CRDs
	{
		Path:    "cmd/storagebench/spec",
		Own:     []string{"api/v1alpha1", "config/crd", "internal/schedule", "internal/timetable", "internal/trial", "internal/suggest"},
		Foreign: []string{"k8s.io/apiextensions-apiserver/", "k8s.io/apimachinery/", "sigs.k8s.io/yaml"},
	},
	{
		Path: "cmd/storagebench",
		Own: []string{
			"cmd/storagebench/spec", "api/v1alpha1", "internal/trial", "internal/plan", "internal/result", "internal/stats", "internal/report", "internal/report/export", "internal/report/gather", "internal/report/page", "internal/samples", "internal/samples/codec", "internal/compare", "internal/importer", "internal/qualify", "internal/suggest",
			"internal/device", "internal/powercut", "internal/tunable", "internal/runner/journal", "internal/environment", "internal/runner", "internal/workload", "internal/workload/apart", "internal/workload/fio", "internal/workload/engines",
			"internal/status", "internal/stopping", "internal/store", "internal/store/dir", "internal/store/presigned", "internal/store/s3",
		},
		Foreign: append([]string{
			"k8s.io/apimachinery/", "k8s.io/client-go/tools/clientcmd", "sigs.k8s.io/yaml", "sigs.k8s.io/controller-runtime/pkg/client",
			"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term",
		}, system...),
	},

	// Programs that are run from the repository, and helpers of tests. Nobody imports them.
	{Path: "hack/test-jobfiles", Own: []string{"internal/result", "internal/workload/fio/wild"}},
	{Path: "hack/fio-options", Own: []string{"internal/workload/fio"}},
	{Path: "hack/test-output"},
	{
		Path: "hack/sample-reports",
		Own:  []string{"internal/histogram", "internal/report", "internal/report/page", "internal/result", "internal/samples", "internal/stats", "internal/trial"},
	},
	{Path: "hack/tunables", Own: []string{"internal/tunable"}},
	{
		Path:    "hack/result-schemas",
		Own:     []string{"internal/histogram", "internal/result", "internal/trial"},
		Foreign: []string{"github.com/invopop/jsonschema"},
	},
	{Path: "hack/image/sbom"},
	{Path: "hack/objects", Own: []string{"internal/store/s3"}},
	{Path: "hack/bench/paired", Own: []string{"internal/stats"}, Foreign: []string{"gonum.org/v1/gonum/stat"}},
	{Path: "hack/bench/volume"},
	{Path: "hack/bench/stats", Own: []string{"internal/result", "internal/stats", "internal/stopping", "internal/trial"}, Foreign: []string{"gonum.org/v1/gonum/mathext"}},
	{Path: "hack/bench/observers", Own: []string{"hack/bench/paired", "hack/bench/volume", "internal/observe", "internal/observe/blockio", "internal/workload/tool"}},
	{
		Path:    "hack/bench/overhead",
		Own:     []string{"api/v1alpha1", "hack/bench/lab", "hack/bench/paired", "hack/bench/volume", "internal/result", "internal/stats"},
		Foreign: kubernetesTypes,
	},
	{
		// Takes the scheme of controllers and nothing else of it.
		Path:    "hack/bench/lab",
		Own:     []string{"api/v1alpha1", "controllers", "internal/store/s3", "internal/trial"},
		Foreign: []string{"k8s.io/", "sigs.k8s.io/controller-runtime"},
	},
	{
		Path: "hack/bench/workloads",
		Own:  []string{"hack/bench/paired", "hack/bench/volume", "internal/result", "internal/trial", "internal/workload", "internal/workload/engines"},
	},
	{
		Path:    "hack/bench/latency",
		Own:     []string{"api/v1alpha1", "hack/bench/lab", "internal/jobspec", "internal/stats"},
		Foreign: []string{"k8s.io/", "sigs.k8s.io/controller-runtime", "github.com/klauspost/compress/zstd"},
	},
	{
		// Takes the scheme of controllers and nothing else of it.
		Path: "hack/bench/scale",
		Own: []string{
			"api/v1alpha1", "controllers", "internal/histogram", "internal/jobspec", "internal/result", "internal/store",
			"internal/store/presigned", "internal/store/s3", "internal/trial",
		},
		Foreign: []string{"k8s.io/", "sigs.k8s.io/controller-runtime"},
	},
	{Path: "test/apiserver", Foreign: []string{"k8s.io/client-go/rest", "sigs.k8s.io/controller-runtime/pkg/envtest"}},
	{Path: "test/wait", Own: []string{"api/v1alpha1"}, Foreign: append([]string{"sigs.k8s.io/controller-runtime/pkg/client"}, kubernetesTypes...)},
	{Path: "test/faults", Own: []string{"api/reason", "api/v1alpha1", "test/ledger"}, Foreign: kubernetesTypes},
	{Path: "test/attacks", Own: []string{"test/ledger"}},
	{Path: "test/cluster", Own: []string{"api/v1alpha1", "controllers", "internal/store/s3"}, Foreign: []string{"k8s.io/", "sigs.k8s.io/controller-runtime"}},
	{Path: "test/powercut/nbd"},
	{Path: "test/powercut/guest", Own: []string{"internal/powercut"}, Foreign: system}, // the first process of a machine
	{Path: "test/truth/guest", Foreign: system},                                        // the same
	{Path: "test/turns"},
	{Path: "test/..."},
}

// pureStandard are the packages of the standard library that a pure package may
// import: they compute, and reach nothing outside the process.
var pureStandard = []string{
	"bytes", "cmp", "container/heap", "container/list", "crypto/hmac", "crypto/sha256", "embed",
	"encoding", "encoding/base64", "encoding/binary", "encoding/csv", "encoding/hex", "encoding/json",
	"encoding/xml", "errors", "fmt", "hash", "hash/fnv", "html", "html/template", "io", "iter",
	"maps", "math", "math/big", "math/bits", "math/rand/v2", "mime/quotedprintable", "path", "reflect", "regexp", "slices", "sort",
	"strconv", "strings", "text/tabwriter", "text/template", "time", "unicode", "unicode/utf16", "unicode/utf8",
}

// impure are functions of packages that are pure otherwise.
var impure = map[string][]string{
	"time":                                 {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "LoadLocation", "Local"},
	"fmt":                                  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"k8s.io/apimachinery/pkg/apis/meta/v1": {"Now", "NowMicro"},
	// Those that draw from the generator that nobody has seeded.
	"math/rand/v2": {
		"ExpFloat64", "Float32", "Float64", "Int", "Int32", "Int32N", "Int64", "Int64N", "IntN", "N",
		"NormFloat64", "Perm", "Shuffle", "Uint", "Uint32", "Uint32N", "Uint64", "Uint64N", "UintN",
	},
}
