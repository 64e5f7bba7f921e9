"""The supervisor of a campaign: its log, its phases, its commands, its start and its end.

``daemon`` starts a process (``__main__``) in which ``supervisor`` runs. ``observation`` reads what
engines write, ``campaign_log`` records and folds it, ``command_router`` carries out commands,
``phases`` decides which instances run, ``ending`` when the campaign has used up its budget.
"""
