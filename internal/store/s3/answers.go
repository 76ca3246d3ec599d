package s3

import (
	"io"
	"net/http"
)

// A page of a list has at most pageKeys keys, of at most 1 KiB each, and as much again about each.
const (
	pageKeys  = 500
	maxAnswer = 1 << 20
)

// shortAnswers cuts off the answers that the SDK reads as a whole, whatever their size: all but those
// that hold an object, which the caller bounds. What is cut off is no XML any more, and an error.
type shortAnswers struct{ http.RoundTripper }

// RoundTrip sends a request.
func (s shortAnswers) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(request)
	if err != nil || request.Method == http.MethodGet && !request.URL.Query().Has("list-type") {
		return response, err
	}
	response.Body = cutOff{io.LimitReader(response.Body, maxAnswer), response.Body}
	return response, nil
}

type cutOff struct {
	io.Reader
	io.Closer
}
