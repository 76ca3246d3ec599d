package s3

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"storagebench.io/storagebench/internal/store"
)

func TestConfigurationsThatCannotWorkAreRefused(t *testing.T) {
	for name, c := range map[string]Config{
		"no scheme":            {Endpoint: "minio:9000"},
		"another scheme":       {Endpoint: "ftp://minio:9000"},
		"a path":               {Endpoint: "https://s3.example.com/bucket"},
		"a prefix with dots":   {Endpoint: "https://s3.example.com", Prefix: "a/../b"},
		"a caBundle of no PEM": {Endpoint: "https://s3.example.com", CABundle: []byte("none")},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
}

func TestAPasswordInTheEndpointIsNotRepeated(t *testing.T) {
	_, err := New(Config{Endpoint: "https://user:hunter2@s3.example.com"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
}

// What a server answers that speaks TLS and was asked in plain text.
func TestPlainTextToTLSIsNamed(t *testing.T) {
	for message, want := range map[string]bool{
		"Client sent an HTTP request to an HTTPS server.":       true,
		"400 The plain HTTP request was sent to HTTPS port":     true,
		"The request is malformed, and this is no word of TLS.": false,
	} {
		err := classify(minio.ErrorResponse{StatusCode: http.StatusBadRequest, Code: "400 Bad Request", Message: message})
		if got := errors.Is(err, store.ErrUnreachable); got != want || strings.Contains(err.Error(), "must begin with https://") != want {
			t.Errorf("%q becomes %v", message, err)
		}
	}
}
