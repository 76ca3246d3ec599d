package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// world is an API server that knows the token "good" of prometheus, who may get /metrics, and "poor" of somebody
// who may not.
type world struct {
	down, revoked    bool
	tokens, accesses atomic.Int32
	asked            authorizationv1.SubjectAccessReviewSpec
	// during is called in each TokenReview.
	during func()
}

type tokenReviews struct {
	authentication.TokenReviewInterface
	*world
}

func (w tokenReviews) Create(ctx context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	w.tokens.Add(1)
	if w.during != nil {
		w.during()
	}
	if w.down {
		return nil, errors.New("connection refused")
	}
	out := r.DeepCopy()
	switch {
	case r.Spec.Token == "good" && !w.revoked:
		out.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
			Username: "prometheus", UID: "7", Groups: []string{"scrapers"}, Extra: map[string]authenticationv1.ExtraValue{"pod": {"p-0"}},
		}}
	case r.Spec.Token == "poor":
		out.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "somebody"}}
	default:
		// As the API server answers.
		out.Status.Error = "invalid bearer token"
	}
	return out, ctx.Err()
}

type accessReviews struct {
	authorization.SubjectAccessReviewInterface
	*world
}

func (w accessReviews) Create(_ context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	w.accesses.Add(1)
	w.asked = r.Spec
	out := r.DeepCopy()
	a := r.Spec.NonResourceAttributes
	out.Status.Allowed = r.Spec.User == "prometheus" && a.Verb == "get" && a.Path == "/metrics"
	return out, nil
}

func serve(t *testing.T, w *world) (http.Handler, *clocktesting.FakePassiveClock) {
	t.Helper()
	now := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	h, err := newGate(tokenReviews{world: w}, accessReviews{world: w}, now).filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "up 1") }))
	if err != nil {
		t.Fatal(err)
	}
	return h, now
}

func ask(h http.Handler, method, path, authorization string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestOnlyAnAccountWithTheRightReadsMetrics(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, header string
		down                 bool
		want                 int
	}{
		"the right account":           {header: "Bearer good", want: 200},
		"the scheme in small letters": {header: "bearer good", want: 200},
		"no header":                   {want: 401},
		"no token":                    {header: "Bearer ", want: 401},
		"another scheme":              {header: "Basic good", want: 401},
		"an unknown token":            {header: "Bearer bad", want: 401},
		"two tokens":                  {header: "Bearer bad good", want: 401},
		"a token without end":         {header: "Bearer " + strings.Repeat("x", maxToken+1), want: 401},
		"an account without right":    {header: "Bearer poor", want: 403},
		"another verb":                {method: "POST", header: "Bearer good", want: 403},
		"another path":                {path: "/debug", header: "Bearer good", want: 403},
		"no API server":               {header: "Bearer good", down: true, want: 503},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := serve(t, &world{down: c.down})
			if c.method == "" {
				c.method = "GET"
			}
			if c.path == "" {
				c.path = "/metrics"
			}
			got := ask(h, c.method, c.path, c.header)
			if got.Code != c.want {
				t.Errorf("status %d, want %d: %s", got.Code, c.want, got.Body)
			}
			if served := strings.Contains(got.Body.String(), "up 1"); served != (c.want == 200) {
				t.Errorf("metrics served: %v", served)
			}
		})
	}
}

func TestTheAccessReviewHasAllOfTheAccount(t *testing.T) {
	w := &world{}
	h, _ := serve(t, w)
	ask(h, "GET", "/metrics", "Bearer good")
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "prometheus", UID: "7", Groups: []string{"scrapers"}, Extra: map[string]authorizationv1.ExtraValue{"pod": {"p-0"}},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
	}
	if diff := cmp.Diff(want, w.asked); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersAreRememberedForAWhile(t *testing.T) {
	w := &world{}
	h, now := serve(t, w)
	status := func(header string) int { return ask(h, "GET", "/metrics", header).Code }
	for range 3 {
		status("Bearer good")
		status("Bearer bad")
	}
	if got := w.tokens.Load(); got != 2 {
		t.Errorf("6 requests with 2 tokens made %d TokenReviews, want 2", got)
	}
	w.revoked = true
	now.SetTime(now.Now().Add(allowedFor - time.Second))
	if got := status("Bearer good"); got != http.StatusOK {
		t.Errorf("within %s: status %d, want 200", allowedFor, got)
	}
	now.SetTime(now.Now().Add(time.Second))
	if got := status("Bearer good"); got != http.StatusUnauthorized {
		t.Errorf("a revoked token after %s: status %d, want 401", allowedFor, got)
	}
	w.revoked = false
	now.SetTime(now.Now().Add(refusedFor))
	if got := status("Bearer good"); got != http.StatusOK {
		t.Errorf("a token that became good, after %s: status %d, want 200", refusedFor, got)
	}
}

func TestAnAPIServerThatWasDownIsAskedAgain(t *testing.T) {
	w := &world{down: true}
	h, _ := serve(t, w)
	ask(h, "GET", "/metrics", "Bearer good")
	w.down = false
	if got := ask(h, "GET", "/metrics", "Bearer good").Code; got != http.StatusOK {
		t.Errorf("status %d, want 200", got)
	}
}

func TestAFloodOfTokensPushesOutNoGoodOne(t *testing.T) {
	w := &world{}
	h, _ := serve(t, w)
	ask(h, "GET", "/metrics", "Bearer good")
	for i := range 2 * maxAnswers {
		ask(h, "GET", "/metrics", fmt.Sprintf("Bearer bad%d", i))
	}
	before := w.tokens.Load()
	ask(h, "GET", "/metrics", "Bearer good")
	if got := w.tokens.Load() - before; got != 0 {
		t.Errorf("the good token was reviewed again %d times", got)
	}
}

func TestFewRequestsAskTheAPIServerAtOnce(t *testing.T) {
	var now, most atomic.Int32
	release := make(chan struct{})
	w := &world{during: func() {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		<-release
		now.Add(-1)
	}}
	h, _ := serve(t, w)
	var all sync.WaitGroup
	for i := range 4 * maxReviews {
		all.Go(func() { ask(h, "GET", "/metrics", fmt.Sprintf("Bearer %d", i%(2*maxReviews))) })
	}
	for now.Load() < maxReviews {
		time.Sleep(time.Millisecond)
	}
	// One that waits for its turn gives up with its client.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, "GET", "/metrics", nil)
	r.Header.Set("Authorization", "Bearer late")
	late := httptest.NewRecorder()
	h.ServeHTTP(late, r)
	if late.Code != http.StatusServiceUnavailable {
		t.Errorf("without a turn: status %d, want 503", late.Code)
	}
	close(release)
	all.Wait()
	if got := most.Load(); got > maxReviews {
		t.Errorf("%d reviews at once, want at most %d", got, maxReviews)
	}
	if got := w.tokens.Load(); got > 2*maxReviews+maxReviews {
		t.Errorf("%d TokenReviews of %d tokens", got, 2*maxReviews)
	}
}
