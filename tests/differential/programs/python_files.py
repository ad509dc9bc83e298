# compare: ordered
# parallelism: 1
"""Python files added after the stream was defined are importable in functions; of two with one name the second wins."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def use_modules(number: int) -> str:
    from differential_extra_module import FACTOR
    from differential_shared_name import WHO

    return f"{number * FACTOR} {WHO}"


def write(folder: str, module: str, text: str) -> str:
    path = Path(folder, module)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    with tempfile.TemporaryDirectory() as folder:
        numbers = env.from_collection([1, 2, 3], type_info=Types.INT()).map(use_modules, Types.STRING())
        env.add_python_file(write(folder, "differential_extra_module.py", "FACTOR = 3\n"))
        env.add_python_file(write(folder, "one/differential_shared_name.py", "WHO = 'first'\n"))
        env.add_python_file(write(folder, "two/differential_shared_name.py", "WHO = 'second'\n"))
        numbers.print()
        env.execute("python files")


if __name__ == "__main__":
    main()
