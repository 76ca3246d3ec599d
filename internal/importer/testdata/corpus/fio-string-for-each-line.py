STATUS = (
    '{\n'
    '  "fio version" : "fio-3.30",\n'
    '  "jobs" : [\n'
    '    {\n'
    '      "jobname" : "w",\n'
    '      "write" : {\n'
    '        "io_kbytes" : 1024\n'
    '      }\n'
    '    }\n'
    '  ]\n'
    '}\n'
)
