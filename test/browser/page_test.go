package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// directory of the pages: small and large.
func directory(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("STORAGEBENCH_PAGES")
	if dir == "" {
		t.Fatal("STORAGEBENCH_PAGES is not set: run make test-report")
	}
	return dir
}

// tab is a browser that shows one page.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string

	mu       sync.Mutex
	complain []string // what the console says
	requests []string // what left the file
}

// open shows a file, in a browser that reaches no network.
func open(t *testing.T, file, scheme string, width int64) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"), chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx, url: (&url.URL{Scheme: "file", Path: file}).String()}
	chromedp.ListenTarget(ctx, p.listen)
	p.run(
		network.Enable(), log.Enable(),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		emulation.SetDeviceMetricsOverride(width, 1000, 1, false),
		chromedp.Navigate(p.url), chromedp.WaitReady("html[data-drawn]"),
	)
	return p
}

func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if e.Request.URL != p.url {
			p.requests = append(p.requests, e.Request.URL)
		}
	case *runtime.EventConsoleAPICalled:
		p.complain = append(p.complain, fmt.Sprintf("console.%s: %v", e.Type, e.Args))
	case *runtime.EventExceptionThrown:
		p.complain = append(p.complain, e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		p.complain = append(p.complain, e.Entry.Text)
	}
}

func (p *tab) run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// value evaluates an expression, or a promise of one.
func value[T any](p *tab, expression string) (v T) {
	p.t.Helper()
	p.run(chromedp.Evaluate(expression, &v, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return v
}

// quiet checks that the console is empty and nothing left the file.
func (p *tab) quiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.complain {
		p.t.Errorf("the console says: %s", c)
	}
	for _, r := range p.requests {
		p.t.Errorf("the page requests %s", r)
	}
}

func TestPagesWorkAtEveryWidthInBothSchemes(t *testing.T) {
	axe, err := os.ReadFile(os.Getenv("STORAGEBENCH_AXE"))
	if err != nil {
		t.Fatalf("STORAGEBENCH_AXE: %v: run make test-report", err)
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{400, 1600} {
			t.Run(fmt.Sprintf("%s/%d", scheme, width), func(t *testing.T) {
				p := open(t, filepath.Join(directory(t), "small/report.html"), scheme, width)
				if over := value[int64](p, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
					t.Errorf("the page is %d px wider than the window", over)
				}
				value[bool](p, "document.querySelectorAll('details').forEach((d) => { d.open = true }), true")
				p.charts()
				p.run(chromedp.Evaluate(string(axe), nil))
				for _, fault := range value[[]string](p, `axe.run().then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
					.map((v) => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | ")))`) {
					t.Errorf("axe: %s", fault)
				}
				p.quiet()
			})
		}
	}
}

// charts checks that each chart was drawn, as what it is, and with something on it.
func (p *tab) charts() {
	p.t.Helper()
	drawn := value[map[string]string](p, `Object.fromEntries([...document.querySelectorAll(".plot")].map((e) => {
		const canvas = e.querySelector("canvas");
		if (!canvas) return [e.id, "no canvas"];
		const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
		const colours = new Set();
		for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 200) colours.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
		return [e.id, colours.size < 3 ? "blank" : e.dataset.drawn];
	}))`)
	want := value[map[string]string](p, `Object.fromEntries(JSON.parse(document.getElementById("data").textContent).charts.map((c) => [c.id, c.kind]))`)
	if len(want) == 0 {
		p.t.Error("the page has no charts")
	}
	for id, kind := range want {
		if drawn[id] != kind {
			p.t.Errorf("chart %s is %q, want %s", id, drawn[id], kind)
		}
	}
}

// shown is a number as the page shows it.
type shown struct{ At, Value, Text string }

func TestEveryNumberIsThatOfTheSummary(t *testing.T) {
	dir := filepath.Join(directory(t), "small")
	p := open(t, filepath.Join(dir, "report.html"), "light", 1600)
	value[bool](p, "document.querySelectorAll('details').forEach((d) => { d.open = true }), true")
	p.run(chromedp.Poll(`[...document.querySelectorAll("details[data-metrics]")].every((d) => d.querySelector("table"))`, nil))
	content, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var summary any
	if err := json.Unmarshal(content, &summary); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, n := range value[[]shown](p, `[...document.querySelectorAll("data")].map((d) => ({At: d.dataset.at || "", Value: d.value, Text: d.textContent}))`) {
		seen[n.At] = true
		want, ok := resolve(summary, n.At).(float64)
		got, err := strconv.ParseFloat(n.Value, 64)
		if !ok || err != nil || got != want {
			t.Errorf("%s is %v in the summary and %s in the page", n.At, want, n.Value)
		}
		if text, ok := parse(n.Text); !ok || math.Abs(text-want) > 0.006*math.Abs(want)+1e-12 {
			t.Errorf("%s is %v, and the page reads %q", n.At, want, n.Text)
		}
	}
	// And no metric is left out.
	for i, row := range resolve(summary, "/rows").([]any) {
		for name := range row.(map[string]any)["metrics"].(map[string]any) {
			at := fmt.Sprintf("/rows/%d/metrics/%s/median", i, strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
			if !seen[at] {
				t.Errorf("the page does not show %s", at)
			}
		}
	}
	p.quiet()
}

// resolve follows a JSON pointer.
func resolve(document any, pointer string) any {
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch v := document.(type) {
		case map[string]any:
			document = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			document = v[i]
		default:
			return nil
		}
	}
	return document
}

// parse reads a number as people read it: 12.3k, 4.00 KiB/s, 157µs.
func parse(text string) (float64, bool) {
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("-.0123456789", r) })
	if end < 0 {
		end = len(text)
	}
	v, err := strconv.ParseFloat(text[:end], 64)
	scale, known := map[string]float64{
		"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1,
		"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	}[strings.TrimSuffix(strings.TrimSpace(text[end:]), "/s")]
	return v * scale, err == nil && known
}

func TestAThousandTrialsAreSmallAndDrawnSoon(t *testing.T) {
	file := filepath.Join(directory(t), "large/report.html")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() >= 5_000_000 {
		t.Errorf("the page has %d bytes, the limit is 5 MB", info.Size())
	}
	// The machine may do other things too: the best of three is what the page takes.
	best := int64(math.MaxInt64)
	for range 3 {
		p := open(t, file, "light", 1600)
		p.charts()
		p.quiet()
		best = min(best, value[int64](p, "Number(document.documentElement.dataset.drawn)"))
	}
	t.Logf("1,000 trials: %d bytes, drawn after %d ms", info.Size(), best)
	if best > 2000 {
		t.Errorf("the page was drawn after %d ms, the limit is 2,000", best)
	}
}

func TestAChartOfAnUnknownKindIsSaidAndNotDrawn(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(directory(t), "small/report.html"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(strings.Replace(string(content), `"kind":"percentiles"`, `"kind":"constructor"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, file, "light", 1600)
	if text := value[string](p, `document.querySelector("[data-drawn=unknown]").textContent`); !strings.Contains(text, "cannot draw") {
		t.Errorf("the page says %q", text)
	}
	p.quiet()
}

// The page's own policy is what stops a script that gets in nevertheless.
func TestThePolicyStopsWhatIsNotThePages(t *testing.T) {
	p := open(t, filepath.Join(directory(t), "small/report.html"), "light", 1600)
	stopped := value[[]string](p, `new Promise((done) => {
		const stopped = [];
		document.addEventListener("securitypolicyviolation", (e) => {
			stopped.push(e.effectiveDirective);
			if (stopped.length === 2) done(stopped);
		});
		const s = document.createElement("script");
		s.textContent = "window.attacked = true";
		document.body.append(s);
		const i = new Image();
		i.src = "https://evil.example/x.png";
		document.body.append(i);
	})`)
	slices.Sort(stopped)
	if want := []string{"img-src", "script-src-elem"}; !slices.Equal(stopped, want) {
		t.Errorf("the policy stopped %q, want %q", stopped, want)
	}
	if value[bool](p, "window.attacked === true") {
		t.Error("a script ran that is not the page's")
	}
}

// For the documentation: SCREENSHOTS=docs/images make test-report.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		dir = t.TempDir()
	}
	for _, scheme := range []string{"light", "dark"} {
		p := open(t, filepath.Join(directory(t), "small/report.html"), scheme, 1200)
		var png []byte
		p.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
			png, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).WithClip(&page.Viewport{Width: 1200, Height: 1500, Scale: 0.75}).Do(ctx)
			return err
		}))
		if len(png) == 0 || len(png) >= 300_000 {
			t.Errorf("%s: the screenshot has %d bytes, the limit is 300 kB", scheme, len(png))
		}
		if err := os.WriteFile(filepath.Join(dir, "report-"+scheme+".png"), png, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
