# compare: ordered
# parallelism: 1
"""execute_async and its JobClient, the result of execute, and a second job built on the same environment."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
    numbers.map(lambda number: number * 2, Types.INT()).print("async")
    client = env.execute_async("async job")
    result = client.get_job_execution_result().result()
    print(str(client.get_job_id()) == str(result.get_job_id()), len(str(result.get_job_id())))
    print(result.get_net_runtime() >= 0, result.get_all_accumulator_results())
    # The steps of the first job are done with: the second runs only what was added since.
    numbers.print("second")
    result = env.execute("second job")
    print(type(result).__name__, result.get_net_runtime() >= 0)


if __name__ == "__main__":
    main()
