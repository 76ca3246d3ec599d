package access

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// allowedFor is how long a token that was revoked may still be used.
	allowedFor = time.Minute
	// refusedFor is how long an account waits for a right that it was given.
	refusedFor = 10 * time.Second
	// maxAnswers bounds each of the two caches. An answer takes about 200 bytes.
	maxAnswers = 512
	// maxToken is above the length of any token that an API server takes: its header must fit into 16 KiB at
	// most proxies.
	maxToken = 16 << 10
	// maxReviews bounds the requests that ask the API server at the same time; others wait for their turn.
	maxReviews = 4
	// patience is how long a request waits for its turn and for the API server.
	patience = 10 * time.Second
)

// Filter lets a request pass if the API server knows its token, and if the account may use the verb on the URL. It
// needs the right to create TokenReviews and SubjectAccessReviews.
func Filter(config *rest.Config, client *http.Client) (server.Filter, error) {
	tokens, err := authentication.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for TokenReviews: %w", err)
	}
	accesses, err := authorization.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for SubjectAccessReviews: %w", err)
	}
	return newGate(tokens.TokenReviews(), accesses.SubjectAccessReviews(), clock.RealClock{}).filter, nil
}

// gate remembers answers. Refusals have a cache of their own, or a flood of made-up tokens would push out those of
// honest clients.
type gate struct {
	tokens           authentication.TokenReviewInterface
	accesses         authorization.SubjectAccessReviewInterface
	clock            clock.PassiveClock
	allowed, refused *lru.Cache
	turns            chan struct{}
}

func newGate(tokens authentication.TokenReviewInterface, accesses authorization.SubjectAccessReviewInterface, now clock.PassiveClock) *gate {
	return &gate{
		tokens: tokens, accesses: accesses, clock: now,
		allowed: lru.New(maxAnswers), refused: lru.New(maxAnswers), turns: make(chan struct{}, maxReviews),
	}
}

// question is what a request asks for. Its parts are hashed together, so a key is short and holds no token.
type question struct{ token, verb, path string }

func (q question) key() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q", q.token, q.verb, q.path))
}

// answer is an HTTP status: OK, or why not.
type answer struct {
	status int
	until  time.Time
}

func (g *gate) filter(log logr.Logger, next http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := bearer(r.Header.Get("Authorization"))
		status, err := http.StatusUnauthorized, error(nil)
		if ok {
			status, err = g.decide(r.Context(), question{token: token, verb: strings.ToLower(r.Method), path: r.URL.Path})
		}
		switch {
		case err != nil:
			log.Error(err, "Cannot tell who may read the metrics")
			http.Error(w, "cannot ask the API server who may read the metrics; try again", http.StatusServiceUnavailable)
		case status == http.StatusOK:
			next.ServeHTTP(w, r)
		case status == http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "show a token that the API server knows: Authorization: Bearer TOKEN", status)
		default:
			http.Error(w, fmt.Sprintf("the account of this token may not %s %s; bind it to a ClusterRole that allows that", strings.ToLower(r.Method), r.URL.Path), status)
		}
	}), nil
}

// bearer returns the token of an Authorization header.
func bearer(header string) (token string, ok bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(header), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= maxToken
}

// decide returns what is remembered, or asks the API server. An error is never remembered.
func (g *gate) decide(ctx context.Context, q question) (status int, err error) {
	key := q.key()
	if status, ok := g.remembered(key); ok {
		return status, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case g.turns <- struct{}{}:
		defer func() { <-g.turns }()
	case <-ctx.Done():
		return 0, fmt.Errorf("the API server has not answered %d earlier requests yet: %w", maxReviews, ctx.Err())
	}
	// Another request may have asked the same in the meantime.
	if status, ok := g.remembered(key); ok {
		return status, nil
	}
	if status, err = g.review(ctx, q); err != nil {
		return 0, err
	}
	if status == http.StatusOK {
		g.allowed.Add(key, answer{status, g.clock.Now().Add(allowedFor)})
	} else {
		g.refused.Add(key, answer{status, g.clock.Now().Add(refusedFor)})
	}
	return status, nil
}

func (g *gate) remembered(key [sha256.Size]byte) (status int, ok bool) {
	for _, cache := range []*lru.Cache{g.allowed, g.refused} {
		found, _ := cache.Get(key)
		if a, ok := found.(answer); ok && g.clock.Now().Before(a.until) {
			return a.status, true
		}
	}
	return 0, false
}

// review asks the API server whose token it is, and what the account may do.
func (g *gate) review(ctx context.Context, q question) (status int, err error) {
	known, err := g.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: q.token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("TokenReview: %w", err)
	}
	if !known.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := known.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	may, err := g.accesses.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: q.path, Verb: q.verb},
	}}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return 0, fmt.Errorf("SubjectAccessReview for %s: %w", user.Username, err)
	case may.Status.Allowed && !may.Status.Denied:
		return http.StatusOK, nil
	default:
		return http.StatusForbidden, nil
	}
}
