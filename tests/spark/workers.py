"""PySpark's daemon, whose workers import the installed PySpark instead of the zip file that Spark puts before it.

The zip file has no byte code, so that every worker would compile PySpark: importing takes 0.9 s from there, else 0.3 s.
"""

import sys

sys.path[:] = [place for place in sys.path if not place.endswith(".zip")]

from pyspark.daemon import manager  # noqa: E402

if __name__ == "__main__":
    manager()
