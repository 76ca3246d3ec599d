"""Reads a list of series from stdin, as JSON, and writes Otava's change points of each."""
import json
import sys
import warnings

from otava.analysis import compute_change_points

warnings.simplefilter("ignore")  # of 0/0 and 1/0, which Otava takes as they come


def points(series):
    # A list, not an array: Otava takes an array whole where it takes a window of a list.
    found, _ = compute_change_points(list(series), window_len=50, max_pvalue=0.001, min_magnitude=0.0)
    return [{"index": int(p.index), "before": float(p.stats.mean_1), "after": float(p.stats.mean_2), "p": float(p.stats.pvalue)} for p in found]


json.dump([points(s) for s in json.load(sys.stdin)], sys.stdout)
