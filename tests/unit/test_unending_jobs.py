"""A background job goes on after a fault that nobody foresaw, which is logged at once."""

import asyncio

import pytest

from actors.jobs.unending import unending


async def test_a_job_that_fails_is_logged_and_begins_again(caplog: pytest.LogCaptureFixture):
    begun: list[int] = []
    at_work = asyncio.Event()

    async def job() -> None:
        begun.append(len(begun))
        if len(begun) < 3:
            raise ZeroDivisionError("nobody foresaw this")
        at_work.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(unending("cleaning", job, again_s=0))
    async with asyncio.timeout(10):
        await at_work.wait()
    assert [record.message for record in caplog.records] == [
        "the job 'cleaning' failed; it begins again in 0 seconds"
    ] * 2
    assert "nobody foresaw this" in caplog.text
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_job_that_ends_by_itself_is_over():
    async def job() -> None:
        pass

    async with asyncio.timeout(10):
        await unending("cleaning", job)
