"""A queue that a selector can wait for."""

from __future__ import annotations

import os
import select

from yardarm.cluster.mailbox import Mailbox


def test_what_is_put_rings_and_is_taken_in_order() -> None:
    mailbox = Mailbox[int]()
    mailbox.put([1, 2])
    mailbox.put([3])
    assert select.select([mailbox.descriptor], [], [], 0)[0]
    assert mailbox.take_all() == [1, 2, 3]
    assert not select.select([mailbox.descriptor], [], [], 0)[0]
    mailbox.close()


def test_a_closed_mailbox_writes_into_nobody_elses_file() -> None:
    mailbox = Mailbox[int]()
    freed = {mailbox.descriptor, mailbox._bell}
    mailbox.close()
    mine, others = os.pipe()
    assert {mine, others} == freed, "the numbers are given out again"
    mailbox.put([1])
    assert not select.select([mine], [], [], 0)[0]
    os.close(mine)
    os.close(others)


def test_a_mailbox_that_nobody_empties_stops_nobody() -> None:
    mailbox = Mailbox[int]()
    for number in range(70_000):
        mailbox.put([number])
    assert len(mailbox.take_all()) == 70_000
    mailbox.close()
