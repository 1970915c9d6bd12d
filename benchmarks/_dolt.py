"""The merge of `branch.py` in DoltLite, as a program of its own: importing it replaces SQLite in the process.

Prints the milliseconds of every merge, or nothing when DoltLite is not installed.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from importlib.util import find_spec

TABLES = 8


def _changed(database: sqlite3.Connection, numbers: range, age: int) -> None:
    for table in range(TABLES):
        database.executemany(
            f"UPDATE t{table} SET age = ?, note = 'y' WHERE name = ?",
            [(age, f"p{number:09d}") for number in numbers],
        )
    database.commit()
    database.execute(f"SELECT dolt_commit('-A', '-m', 'changes {age}')").fetchall()


def _say(database: sqlite3.Connection, *statements: str) -> None:
    for statement in statements:
        database.execute(statement).fetchall()


def main() -> None:
    """Fill the tables, change them on two branches, merge, and say how long each merge took."""
    path, rows, changes, times = sys.argv[1], *map(int, sys.argv[2:5])
    if find_spec("doltlite") is None:
        return
    __import__("doltlite")
    database = sqlite3.connect(path)
    for table in range(TABLES):
        database.execute(f"CREATE TABLE t{table} (name TEXT PRIMARY KEY, age INTEGER, note TEXT)")
        filled = ((f"p{number:09d}", 0, "x" * 24) for number in range(rows))
        database.executemany(f"INSERT INTO t{table} VALUES (?, ?, ?)", filled)
    database.commit()
    _say(database, "SELECT dolt_commit('-A', '-m', 'first')")
    taken = []
    for number in range(1, times + 1):
        _say(database, f"SELECT dolt_branch('b{number}')", f"SELECT dolt_checkout('b{number}')")
        _changed(database, range(changes), number)
        _say(database, "SELECT dolt_checkout('main')")
        _changed(database, range(changes, 2 * changes), number)
        start = time.perf_counter()
        _say(database, f"SELECT dolt_merge('b{number}')")
        taken.append((time.perf_counter() - start) * 1000)
        seen = database.execute(f"SELECT count(*) FROM t7 WHERE age = {number}").fetchone()[0]
        assert seen == 2 * changes, f"{seen} rows are changed"
    print(json.dumps(taken))


if __name__ == "__main__":
    main()
