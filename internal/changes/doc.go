// Package changes finds the points at which the level of a series of numbers changes.
//
//	Detect   E-divisive with means, as Apache Otava computes it (Fleming et al., "Hunter: Using
//	         Change Point Detection to Hunt for Performance Regressions", ICPE 2023)
//	Tell     what of that is worth telling somebody
//
// Detect equals Otava 0.8.0 point for point, its quirks included (make test-changepoints): whoever
// has tuned thresholds for Otava finds the same here. It works from scratch on the whole series,
// which is short, so nothing is kept from one run to the next, and a point may move or vanish when
// later numbers arrive.
//
// It raises many more false alarms than its p-value says, because it tests the split that looks
// most like a change: of series of 20 normal numbers, 2 % have a point at p < 0.001, and of such
// series that are looked at after every number, 13 %. So Tell leaves out small changes, and what
// too few numbers came before; it says of a change that only the last number shows that it is
// suspected; and it recognizes a single outlier and a drift.
package changes
