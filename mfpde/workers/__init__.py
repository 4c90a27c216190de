"""Tasks in other processes of this machine: one thread each, and none that dies takes the others with it."""

from mfpde.workers.in_process import InProcess, Processes, processes_for
from mfpde.workers.pool import Answer, Pool, Task, Workers, usable_processors

__all__ = ["Answer", "InProcess", "Pool", "Processes", "Task", "Workers", "processes_for", "usable_processors"]
