"""Tasks in other processes: one thread each, and none that dies takes the others with it."""

from mfpde.workers.in_process import InProcess
from mfpde.workers.own_parts import known_here_alone, workers_for
from mfpde.workers.pool import Pool
from mfpde.workers.workers import Answer, Task, Workers, usable_processors

__all__ = ["Answer", "InProcess", "Pool", "Task", "Workers", "known_here_alone", "usable_processors", "workers_for"]
