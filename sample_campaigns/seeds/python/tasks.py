import asyncio
from typing import List, overload


@overload
def first(of: List[int]) -> int: ...
@overload
def first(of: str) -> str: ...
def first(of):
    return of[0]


class Queue:
    limit: "int" = 8
    waiting: "List[asyncio.Task]"

    def __init__(self):
        self.waiting = []

    async def run(self, *jobs):
        async for job in self.each(jobs):
            try:
                result = await job
            except* ValueError:
                pass
            match result:
                case {"state": "done", **rest}:
                    yield rest
                case [x, *_] | (x, _):
                    yield x
                case str() as text if text:
                    nonlocal_name = text
                case _:
                    yield None

    async def each(self, jobs):
        count = 0
        def step():
            nonlocal count
            count += 1
            return count
        for job in jobs:
            if step() > self.limit or not job:
                return
            yield job
