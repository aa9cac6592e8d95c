"""Writes each block of Python in a Markdown file to the file that its first line names.

python3 readme.py README.md FOLDER
"""

import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
blocks = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", text, re.M | re.S)
if len(blocks) != text.count("```python\n"):
    sys.exit("a block of Python in %s does not begin with the name of its file" % sys.argv[1])
for name, block in blocks:
    pathlib.Path(sys.argv[2], name).write_text(block, encoding="utf-8")
