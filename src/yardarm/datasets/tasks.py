"""`meta/tasks.parquet`: the instructions, by number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from yardarm.datasets.arrow import blaming, read_table, write_row_groups
from yardarm.datasets.layout import tasks_file
from yardarm.errors import DatasetFault

__all__ = ["read_tasks", "write_tasks"]

# LeRobot reads the file with pandas, and looks tasks up in its index.
PANDAS = {
    "index_columns": ["task"],
    "column_indexes": [],
    "columns": [
        {"name": "task_index", "field_name": "task_index", "pandas_type": "int64", "numpy_type": "int64"},
        {"name": "task", "field_name": "task", "pandas_type": "unicode", "numpy_type": "object"},
    ],
}
SCHEMA = pa.schema(
    [("task_index", pa.int64()), ("task", pa.string())],
    metadata={"pandas": json.dumps(PANDAS)},
)


def read_tasks(root: Path) -> tuple[str, ...]:
    """Read the instructions, in the order of their numbers."""
    path = tasks_file(root)
    table = read_table(path)
    names = [name for name in table.column_names if name != "task_index"]
    if "task_index" not in table.column_names or len(names) != 1:
        raise DatasetFault(f"{path} must have the columns task_index and task; it has {', '.join(table.column_names)}")
    with blaming(path):
        rows = zip(table["task_index"].to_pylist(), table[names[0]].to_pylist(), strict=True)
        by_number = {int(number): str(task) for number, task in rows}
    if sorted(by_number) != list(range(len(by_number))):
        raise DatasetFault(f"{path} must number its tasks from 0; it has {sorted(by_number)[:10]}")
    return tuple(by_number[number] for number in range(len(by_number)))


def write_tasks(root: Path, tasks: Sequence[str]) -> None:
    """Replace the list of instructions."""
    columns = [pa.array(range(len(tasks)), pa.int64()), pa.array(tasks, pa.string())]
    write_row_groups(tasks_file(root), SCHEMA, [pa.table(columns, schema=SCHEMA)])
