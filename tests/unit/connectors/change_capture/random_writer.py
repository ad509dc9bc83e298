"""A writer that changes a table at random while a source reads it and is killed: whichever the database is."""

from __future__ import annotations

import random
import threading


class RandomWriter(threading.Thread):
    """Changes the table `items` at random, in transactions of which some are rolled back."""

    def __init__(self, connect, insert, move, transactions, seed):
        super().__init__()
        self._connect, self._insert, self._move = connect, insert, move
        self._transactions, self.seed, self.chance = transactions, seed, random.Random(seed)
        self.failure = None

    def run(self):
        try:
            self._write()
        except Exception as error:
            self.failure = error

    def _write(self):
        chance = self.chance
        with self._connect() as connection:
            for number in range(self._transactions):
                for _ in range(chance.choice([1, 1, 3, 200 if number % 40 == 0 else 5])):
                    connection.execute(*self._change())
                connection.rollback() if chance.random() < 0.1 else connection.commit()

    def _change(self):
        chance = self.chance
        one, other, name = chance.randrange(60), chance.randrange(60), str(chance.random())
        return chance.choice(
            [
                (self._insert, (one, name)),
                ("update items set name = %s where id = %s", (name, one)),
                ("delete from items where id = %s", (one,)),
                (self._move, (other, one, other)),
            ]
        )


def while_a_writer_works(writer, start, rows, is_upsert=False):
    """Kills a source again and again; then what it has told must be what the table holds."""
    writer.start()
    run, chance, kills = start(), random.Random(writer.seed), 0
    while writer.is_alive() or kills < 6:
        for _ in range(chance.randrange(1, 40)):
            run.step()
        what = chance.random()
        if what < 0.6:
            run.checkpoint(is_completed=what < 0.5)
        elif what < 0.75:
            run.kill()
            kills += 1
    writer.join()
    assert writer.failure is None, writer.failure

    def current_rows():
        return run.upserted() if is_upsert else run.table()

    def is_done():
        if chance.random() < 0.02:
            run.checkpoint()
        return current_rows() == rows()

    run.run_until(is_done)
    run.checkpoint()
    run.kill()
    for _ in range(30):
        run.step()
    assert current_rows() == rows()
