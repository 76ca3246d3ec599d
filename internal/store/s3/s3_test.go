package s3

import (
	"strings"
	"testing"
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
