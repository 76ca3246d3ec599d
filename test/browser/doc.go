// Package browser looks at run's pages in a real browser (make test-report): headless Chromium
// that chromedp drives. Its test takes the pages of hack/sample-reports from STORAGEBENCH_PAGES,
// and axe-core from STORAGEBENCH_AXE; without them it fails.
package browser
