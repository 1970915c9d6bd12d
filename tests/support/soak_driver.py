"""A driver of Spark that loads and streams what a seed says, among faults, until it is killed or done.

Started again, it goes on from what the graph says has landed. `records` is the truth about what must arrive.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import omnigraph as og
from omnigraph.pipeline.jobs import load
from omnigraph.pipeline.jobs.load import SparkExecutor
from omnigraph.pipeline.workers.read import FrameTask, ReadTask
from omnigraph.spark import session

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { n: I64 }
"""
APP = "soak"
_PEOPLE, _EDGES = 20, 30
_FAULTY_TASKS, _RACES = 0.15, 0.2


def records(seed: int, step: int) -> list[dict[str, Any]]:
    """Return the records of a step: new people, new ages of people of earlier steps, and edges."""
    chance = random.Random(f"{seed}-{step}")
    new = [f"{step}-{number}" for number in range(_PEOPLE)]
    older = [f"{chance.randrange(step)}-{chance.randrange(_PEOPLE)}" for _ in range(5)] if step else []
    known = list(dict.fromkeys([*new, *older]))
    people = [{"type": "Person", "data": {"name": name, "age": chance.randrange(100)}} for name in known]
    knows = [
        {
            "edge": "Knows",
            "from": chance.choice(known),
            "to": chance.choice(known),
            "data": {"n": step * 1000 + number},
        }
        for number in range(_EDGES)
    ]
    return [*people, *knows]


def racer(step: int) -> dict[str, Any]:
    """Return the record of the writer that is quicker in a step."""
    return {"type": "Person", "data": {"name": f"race-{step}", "age": step}}


def has_racer(seed: int, step: int) -> bool:
    """Say whether somebody else publishes while a step is being staged."""
    return random.Random(f"{seed}-{step}-race").random() < _RACES


def main(root: str, inputs: str, seed: int, loads: int) -> None:
    """Do what is left: loads first, each of a file, then the stream of the other files."""
    spark = session(
        "local[2]",
        config={"spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "2"},
    )
    graph = og.open(root)
    step = _Step(seed, loads)
    _inject(graph, step)
    landed = {commit.message for commit in graph.commits.list(limit=10_000)}
    for number in range(loads):
        step.number = number
        if f"step {number}" not in landed:
            lines = str(Path(inputs, "loads", f"{number:04}.ndjson"))
            graph.load(lines, mode="merge", engine="spark", message=f"step {number}")
    write = graph.stream_writer(app_id=APP)

    def write_step(frame: Any, batch: int) -> None:
        step.number = loads + batch
        write(frame, batch)

    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(Path(inputs, "stream")))
    checkpoint = str(Path(inputs, "checkpoint"))
    query = lines.writeStream.foreachBatch(write_step).option("checkpointLocation", checkpoint)
    query.trigger(availableNow=True).start().awaitTermination()
    print("done")


class _Step:
    """The step that runs."""

    def __init__(self, seed: int, loads: int) -> None:
        self.seed, self.loads, self.number = seed, loads, 0


def _inject(graph: og.Graph, step: _Step) -> None:
    read = SparkExecutor.read

    def faulty(kind: type[Any]) -> type[Any]:
        now = f"{step.seed}-{step.number}"

        class Faulty(kind):  # type: ignore[misc]
            def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                from pyspark import TaskContext

                told = list(kind.__call__(self, batches))
                context = TaskContext.get()
                chance = random.Random(f"{now}-{context.partitionId()}")
                if context.attemptNumber() == 0 and chance.random() < _FAULTY_TASKS:
                    if chance.random() < 0.5:
                        os._exit(9)
                    raise RuntimeError("a fault of the soak")
                yield from told

        return Faulty

    def read_among_faults(self: SparkExecutor, order: Any, base: Any) -> Any:
        load.ReadTask = faulty(ReadTask)  # type: ignore[misc]
        load_run.FrameTask = faulty(FrameTask)  # type: ignore[misc]
        found = read(self, order, base)
        if has_racer(step.seed, step.number):
            og.open(graph.uri).load([racer(step.number)], mode="merge")
        return found

    from omnigraph.pipeline.steps import run as load_run

    SparkExecutor.read = read_among_faults  # type: ignore[method-assign]


def write_inputs(folder: Path, seed: int, loads: int, batches: int) -> None:
    """Write the files that the driver loads and streams."""
    for step in range(loads + batches):
        place = folder / "loads" if step < loads else folder / "stream"
        place.mkdir(parents=True, exist_ok=True)
        number = step if step < loads else step - loads
        path = place / f"{number:04}.ndjson"
        path.write_text("".join(json.dumps(record) + "\n" for record in records(seed, step)))
        os.utime(path, (1_700_000_000 + step, 1_700_000_000 + step))  # a stream reads by age


if __name__ == "__main__":
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules["__main__"])
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
