"""The queue in front of the password hasher: bounded, fair, and not to be filled by one caller."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from actors.users.fair_queue import FairQueue, SenderLane

LANES = [SenderLane(place, user) for place in "AB" for user in "xy"]


def drained(queue: FairQueue[str]) -> list[str]:
    taken: list[str] = []
    while (item := queue.next()) is not None:
        taken.append(item)
    return taken


def test_one_lane_is_served_in_order():
    queue = FairQueue[str](8)
    for item in "abc":
        assert queue.add(LANES[0], item) is None
    assert drained(queue) == ["a", "b", "c"]


def test_places_take_turns_and_so_do_the_users_of_each():
    queue = FairQueue[str](8)
    for lane, item in (("Ax", "1"), ("Ax", "2"), ("Ax", "3"), ("Ay", "4"), ("Bx", "5"), ("Bx", "6")):
        queue.add(SenderLane(*lane), item)
    assert drained(queue) == ["1", "5", "4", "6", "2", "3"]


def test_one_alone_has_all_the_room_and_is_refused_above_it():
    queue = FairQueue[str](3)
    assert [queue.add(LANES[0], item) for item in "abcd"] == [None, None, None, "d"]
    assert len(queue) == 3


def test_another_place_takes_the_room_of_the_newest_of_the_longest():
    queue = FairQueue[str](4)
    for item in "abcd":
        queue.add(SenderLane("A", "x"), item)
    assert queue.add(SenderLane("B", "x"), "1") == "d"
    assert queue.add(SenderLane("C", "x"), "2") == "c"
    assert queue.add(SenderLane("A", "x"), "e") == "e"
    assert drained(queue) == ["a", "1", "2", "b"]


def test_another_user_of_the_place_takes_the_room_of_the_one_who_has_more():
    queue = FairQueue[str](4)
    for item in "abcd":
        queue.add(SenderLane("A", "x"), item)
    assert queue.add(SenderLane("A", "y"), "1") == "d"
    assert queue.add(SenderLane("A", "y"), "2") == "c"
    assert queue.add(SenderLane("A", "y"), "3") == "3"
    assert drained(queue) == ["a", "1", "b", "2"]


def test_what_is_taken_out_leaves_no_trace():
    queue = FairQueue[str](2)
    for item in "ab":
        queue.add(LANES[0], item)
    for item in "ba":
        queue.remove(LANES[0], item)
        queue.remove(LANES[0], item)
    queue.remove(LANES[3], "z")
    assert (len(queue), queue.next(), queue._places) == (0, None, {})


@given(st.integers(1, 6), st.lists(st.sampled_from([*LANES, None]), max_size=60))
def test_nothing_is_lost_and_no_lane_is_kept_out_by_a_longer_one(room: int, steps: list[SenderLane | None]):
    queue, waiting = FairQueue[int](room), dict[int, SenderLane]()
    for number, lane in enumerate(steps):
        if lane is None:
            taken = queue.next()
            assert (taken is None) == (not waiting)
            if taken is not None:
                del waiting[taken]
            continue
        out = queue.add(lane, number)
        waiting[number] = lane
        if out is None:
            assert len(waiting) <= room
        else:
            gone = waiting.pop(out)
            places = Counter(each.place for each in waiting.values())
            if out == number:  # refused: nobody else has two more than the newcomer
                assert max(places.values()) <= places[lane.place] + 1
            else:
                lanes = Counter(waiting.values())
                if gone.place == lane.place:
                    assert lanes[gone] >= lanes[lane]
                else:
                    assert places[gone.place] >= places[lane.place]
                assert waiting[number] == lane
        assert len(queue) == len(waiting)
    assert {queue.next() for _ in range(len(waiting))} == waiting.keys()
