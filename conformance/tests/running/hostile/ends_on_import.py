import os

print("no licence found", flush=True)
os._exit(0)
