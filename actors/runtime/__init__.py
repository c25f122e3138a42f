"""The actor runtime: pykka actors on one asyncio loop, and the directory that finds them."""
