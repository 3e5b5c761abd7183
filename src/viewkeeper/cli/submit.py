"""What spark-submit runs: `viewkeeper maintain`, in the context that spark-submit sets up.

spark-submit --master 'local[4]' "$(python -c 'from viewkeeper.cli import submit; print(submit.__file__)')" PATH
"""

from __future__ import annotations

import sys


def main() -> None:
    from viewkeeper.cli import main as program

    sys.argv[1:1] = ["maintain"]
    program()


if __name__ == "__main__":
    main()
