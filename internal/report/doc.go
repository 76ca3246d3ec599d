// Package report writes a run's summary for people. It is pure: a summary goes
// in, text comes out. Values have SI base units in documents and human units here.
package report
