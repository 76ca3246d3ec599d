// Package access decides who may read the metrics.
//
// In: a request with a bearer token. Out: the metrics, or a refusal. In between: a TokenReview asks the API server
// whose token it is, and a SubjectAccessReview whether that account may use this verb on this URL. Whatever fails on
// the way refuses the request. Answers are remembered for a while, in a cache of bounded size, so that neither a
// scrape nor a flood of requests with one token asks the API server each time. What is remembered of a token is a hash.
//
// controller-runtime has a filter that does the same with k8s.io/apiserver, which makes the operator 10 MB larger.
package access
