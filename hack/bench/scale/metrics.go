package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// samples are the values of a scrape, by name with labels as they are written.
type samples map[string]float64

// parseMetrics reads the text format of Prometheus. Timestamps behind values and
// comments are passed over.
func parseMetrics(r io.Reader) (samples, error) {
	s := samples{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		// Labels may hold spaces; what is behind them does not.
		end := strings.LastIndexByte(line, '}') + 1
		if end == 0 {
			end = strings.IndexByte(line, ' ')
		}
		if end < 0 {
			return nil, fmt.Errorf("metrics: no value in %q", line)
		}
		fields := strings.Fields(line[end:])
		if len(fields) == 0 {
			return nil, fmt.Errorf("metrics: no value in %q", line)
		}
		value, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %q: %w", line, err)
		}
		s[line[:end]] = value
	}
	return s, lines.Err()
}

// sum adds up a metric over its labels, of those that hold all the given pairs, each
// written name="value".
func (s samples) sum(name string, pairs ...string) float64 {
	total := 0.0
series:
	for key, value := range s {
		if key != name && !strings.HasPrefix(key, name+"{") {
			continue
		}
		for _, pair := range pairs {
			if !strings.Contains(key, "{"+pair) && !strings.Contains(key, ","+pair) {
				continue series
			}
		}
		total += value
	}
	return total
}

// scrape reads the metrics at an address of the loopback interface.
func scrape(ctx context.Context, address string) (samples, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was read to its end
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", request.URL, response.Status)
	}
	return parseMetrics(response.Body)
}
