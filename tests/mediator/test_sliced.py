"""A worker runs only while it is let, and pauses where it did enough."""

import pytest

from mediator.sliced import CALL, LARGE, SLICE, Worker, in_slices, is_slow, slices


def test_outside_a_worker_all_of_it_is_one_piece() -> None:
    data = bytes(3 * SLICE)
    assert list(slices(data)) == [data]
    assert not in_slices()


@pytest.mark.parametrize("size", [0, 1, SLICE, SLICE + 1, 3 * SLICE])
def test_in_a_worker_the_pieces_together_are_the_whole(size: int) -> None:
    data, got = bytes(range(256)) * (size // 256) + bytes(size % 256), list[bytes]()
    worker = Worker(lambda: got.extend(slices(data)))
    while not worker.done:
        worker.go_on()
    assert b"".join(got) == data
    assert max(map(len, got)) <= SLICE


def test_it_works_only_while_it_is_let() -> None:
    seen: list[bool] = []

    def work() -> str:
        seen.extend(in_slices() for _ in slices(bytes(3 * SLICE)))
        return "done"

    worker = Worker(work)
    for pauses in range(1, 4):
        worker.go_on()
        assert (seen, worker.done) == ([True] * pauses, False)
    worker.go_on()
    assert (worker.result, worker.error) == ("done", None)


def test_many_small_pieces_are_as_much_work_as_a_large_one() -> None:
    worker = Worker(lambda: [list(slices(b"x")) for _ in range(SLICE // CALL)])
    worker.go_on()
    assert not worker.done
    worker.go_on()
    assert worker.done


def test_one_that_is_given_up_ends_where_it_is_whatever_it_catches() -> None:
    ended: list[int] = []

    def work() -> None:
        for at, _ in enumerate(slices(bytes(9 * SLICE))):
            try:
                list(slices(bytes(SLICE)))
            except Exception:  # as a stage might
                ended.append(-1)
            ended.append(at)

    worker = Worker(work)
    worker.go_on()
    worker.give_up()
    assert worker.done
    assert ended == []
    worker.give_up()


@pytest.mark.parametrize("mark", [b"\\u0061", b"%61", b"&#97;", b"=3D"])
def test_a_large_text_of_escapes_is_slow_and_others_are_not(mark: bytes) -> None:
    assert is_slow(mark * SLICE)
    assert not is_slow(mark * (SLICE // len(mark) - 1))
    assert not is_slow(bytes(LARGE - len(mark)) + mark)


def test_more_than_a_read_is_slow_whatever_it_is() -> None:
    assert is_slow(bytes(LARGE + 1))
    assert not is_slow(bytes(LARGE))
