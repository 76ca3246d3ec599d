from probes import read

KNOWN = {
    "fio version": "fio-3.36",
    "jobs": [{
        "error": 0,
        "read": {"iops": 700.25, "bw_bytes": 2867200, "io_bytes": 8602624, "total_ios": 2100,
                 "clat_ns": {"min": 900, "max": 210000, "mean": 7100,
                             "percentile": {"50.000000": 6100, "99.000000": 31000, "99.900000": 52000}}},
        "write": {"iops": 0, "io_bytes": 0}
    }]
}


def test_read():
    assert read(KNOWN)
