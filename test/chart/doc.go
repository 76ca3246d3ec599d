// Package chart checks what the chart renders, for the values that people set (build
// tag chart). It runs the helm that HELM names, or the one of the PATH: make verify
// provides it.
package chart
