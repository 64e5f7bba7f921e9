"""``[notify]``: runs a command of the user when there is news of the campaign."""
