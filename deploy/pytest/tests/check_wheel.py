"""Checks that a wheel's RECORD lists each of its files with its hash and size, and that its program is executable.

python3 check_wheel.py WHEEL
"""

import base64
import csv
import hashlib
import io
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = wheel.namelist()
    [record] = [name for name in names if name.endswith(".dist-info/RECORD")]
    rows = list(csv.reader(io.StringIO(wheel.read(record).decode())))
    assert [row[0] for row in rows] == names, "RECORD lists other files than there are"
    for name, digest, size in rows[:-1]:
        content = wheel.read(name)
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("="), name
        assert int(size) == len(content), name
    assert rows[-1] == [record, "", ""]
    [program] = [name for name in names if name.startswith("punchcard_server/bin/")]
    assert wheel.getinfo(program).external_attr >> 16 == 0o100755, program
