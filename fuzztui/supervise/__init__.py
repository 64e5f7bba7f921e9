"""Supervising a campaign: its engines' processes, their directories, its log.

``daemon`` starts a process (``__main__``) in which ``supervisor`` runs. From the files up:
``names``, ``stats`` and ``relay`` read what engines write, ``watch`` and ``scan`` find
it, ``observe`` makes events of it, ``journal`` logs and folds them. ``identity``,
``processes``, ``engines`` and ``life`` keep engines running, ``steer`` carries commands
to them, ``limits`` knows when it is enough, ``clock`` what time it is.
"""
