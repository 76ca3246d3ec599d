// Package samples checks that what config/samples and the documentation tell people
// to apply is taken: by the schema with its rules, and by the planner.
package samples
