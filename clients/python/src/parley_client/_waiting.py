"""Waiting and file-like seams whose names differ between the asynchronous and the synchronous client."""

import asyncio
import time

async_sleep = asyncio.sleep
sleep = time.sleep
