// Package changepoints compares internal/changes with Apache Otava itself: make test-changepoints.
// Otava is installed from PyPI for the test only, at the version that it is equal to.
package changepoints
